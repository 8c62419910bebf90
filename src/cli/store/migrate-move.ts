import type { MoveView } from '../../app/upkeep/upkeep-move.ts';
import type { Config } from '../../config/options.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatTook } from '../display/time.ts';
import { EXIT } from '../kit/exit.ts';
import { formatCount } from '../kit/figures.ts';
import { progressFor } from '../kit/progress-for.ts';
import { copying } from './copying.ts';

/** `leasehold migrate --from … --to …`. */
export async function runMove(config: Config, from: string, to: string): Promise<number> {
  const out = outFor(config);
  const { moveBetween } = await import('../../app/upkeep/upkeep-move.ts');
  const move = moveBetween(from, to);
  const view = move.view;
  if (out.mode !== 'json') for (const line of describe(view)) out.line(safeLine(line));
  if (config.dryRun) {
    await move.rehearse();
    if (out.mode === 'json') out.json({ ...view, dryRun: true });
    else out.line('The target is reachable and empty. Nothing was changed.');
    return EXIT.fine;
  }
  let progress: ReturnType<typeof progressFor> | undefined;
  const copied = await copying(config, async ({ signal }) => {
    try {
      return await move.run({
        ...(signal === undefined ? {} : { signal }),
        onMoved: ({ done, total }) => {
          progress ??= progressFor(config, 'rows moved:', total);
          progress.add(done - progress.done);
        },
      });
    } finally {
      progress?.end();
    }
  });
  if ('stopped' in copied) {
    out.note('Stopped; nothing was moved, and the store can be used as before.');
    return copied.stopped;
  }
  const { result, tookMs } = copied;
  if (out.mode === 'json') out.json({ ...view, result, tookMs, dryRun: false });
  else for (const line of closing(view, result, tookMs)) out.line(safeLine(line));
  return EXIT.fine;
}

function describe({ from, to, tasks, rows }: MoveView): readonly string[] {
  const states = Object.entries(tasks).filter(([, count]) => count > 0);
  const total = states.reduce((sum, [, count]) => sum + count, 0);
  const each = states.map(([state, count]) => `${formatCount(count)} ${state}`).join(', ');
  const others = Object.entries(rows).map(([table, count]) => `${table} ${formatCount(count)}`);
  return [
    `From ${from}`,
    `to ${to}`,
    `tasks ${formatCount(total)}${each === '' ? '' : `: ${each}`}`,
    others.join(', '),
  ];
}

function closing({ from, to, tasks }: MoveView, result: 'moved' | 'arrived', tookMs: number): readonly string[] {
  return [
    result === 'moved'
      ? `Moved in ${formatTook(tookMs)}, and checked: counts, states and numbers are the same on both sides.`
      : 'An earlier move, which was cut off, had come through: everything is there.',
    ...(tasks.running > 0
      ? [`${formatCount(tasks.running)} tasks ran; they keep their leases for a while, then a node takes them back.`]
      : []),
    `From now on use --store ${to} (LEASEHOLD_STORE); ${from} refuses to be opened.`,
  ];
}
