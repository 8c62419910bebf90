import type { PoolCheckedView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { EXIT } from '../kit/exit.ts';
import { courseText, reasonsText, staffText, workers, workText } from './words.ts';

/** What a check found and did. The status is that of a failure if nothing of what was to be started was. */
export function tellCheck(checked: PoolCheckedView, out: Out): number {
  const failed = checked.launches.filter(({ outcome }) => outcome === 'failed');
  const status = checked.launches.length > 0 && failed.length === checked.launches.length ? EXIT.failed : EXIT.fine;
  if (out.mode === 'json') {
    out.json(checked);
    return status;
  }
  const why = checked.reasons.length === 0 ? '' : ` (${reasonsText(checked.reasons)})`;
  out.line(`${checked.pool}: ${staffText(checked)}; ${workText(checked)}.`);
  if (checked.dryRun) out.line(`A check would do this: ${courseText(checked)}${why}.`);
  else if (checked.launched > 0) out.line(`Started ${workers(checked.launched - failed.length)}${why}.`);
  else if (checked.drained > 0) out.line(`Sent ${workers(checked.drained)} home${why}.`);
  else out.line(`Nothing to do${why}.`);
  for (const { ticket, outcome, said } of checked.launches)
    if (outcome !== 'started') out.note(`${ticket} ${outcome}: ${safeLine(said)}`);
  return status;
}
