import type { Operator } from '../../operate/operator.ts';
import type { RunDetailView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { answersTo, isOver } from './run-page.ts';

/** A step makes no event of its own. */
const POLL_MS = 300;
/** The node may be away for as long as a stream waits for it: the run is kept there. */
const PATIENCE_MS = 600_000;

/** Resolves to the run when it has ended, and says meanwhile what it waits for. Rejects with the reason of the signal. */
export async function untilItsEnd(operator: Operator, id: string, out: Out, stop: AbortSignal): Promise<RunDetailView> {
  for (let told = ''; ; ) {
    const run = await operator.call('getRun', { params: { id }, patienceMs: PATIENCE_MS, signal: stop });
    if (isOver(run.state)) return run;
    const waits = run.waits.map(({ task, key }) => `${task} ${key}`).join(' ');
    if (waits !== '' && waits !== told && out.mode !== 'json') {
      out.note(safeLine(`   ${run.summary}`));
      for (const line of answersTo(run)) out.note(safeLine(`      ${line}`));
    }
    told = waits;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, POLL_MS);
      stop.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(stop.reason as Error);
      });
      if (stop.aborted) reject(stop.reason as Error);
    });
  }
}
