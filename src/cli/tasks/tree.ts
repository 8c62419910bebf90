import type { Config } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
import { requireTask, type TreeView } from '../../operate/calls/calls.ts';
import type { Operator } from '../../operate/operator.ts';
import { type Out, outFor } from '../display/out.ts';
import { paintState, stateText } from '../display/state.ts';
import { type Column, printTable } from '../display/table.ts';
import { formatCount } from '../kit/figures.ts';
import { progressFor } from '../kit/progress-for.ts';

/** On a terminal; a pipe gets them all. */
const SHOWN = 50;

interface TreeOperation<Act extends string> {
  /** What progress calls it. */
  readonly verb: string;
  readonly words: Readonly<Record<Act, string>>;
  readonly wouldWords: Readonly<Record<Act, string>>;
  readonly run: (options: {
    readonly dryRun: boolean;
    readonly onProgress: (progress: { readonly found: number; readonly done: number }) => void;
  }) => Promise<TreeView<Act>>;
}

/** Does something to a task and all that hangs on it, and prints each of them and their numbers. */
export async function runTree<Act extends string>(
  config: Config,
  id: string,
  operation: TreeOperation<Act>,
): Promise<TreeView<Act>> {
  const out = outFor(config);
  let progress: ReturnType<typeof progressFor> | undefined;
  const answer = await operation
    .run({
      dryRun: config.dryRun,
      onProgress: ({ found, done }) => {
        if (done === 0 || config.dryRun) return;
        progress ??= progressFor(config, operation.verb, found);
        progress.add(done - progress.done);
      },
    })
    .finally(() => progress?.end());
  const { tasks, counts, dryRun } = answer;
  if (out.mode === 'json') {
    for (const { id: one, queue, handler, state, act } of tasks) out.json({ id: one, queue, handler, state, act });
    out.json({ root: id, counts, dryRun });
    return answer;
  }
  const words = dryRun ? operation.wouldWords : operation.words;
  printTable(out, columns(out, words), out.mode === 'screen' ? tasks.slice(0, SHOWN) : tasks);
  if (out.mode === 'screen' && tasks.length > SHOWN) out.note(out.paint('dim', `… and ${tasks.length - SHOWN} more`));
  out.note(summary(answer, words));
  return answer;
}

function columns<Act extends string>(
  out: Out,
  words: Readonly<Record<Act, string>>,
): readonly Column<TreeView<Act>['tasks'][number]>[] {
  return [
    { head: 'id', cell: ({ id }) => id },
    { head: 'what', cell: ({ act }) => act, show: ({ act }) => words[act] },
    {
      head: 'was',
      cell: ({ state }) => state,
      show: ({ state }) => stateText(state),
      paint: ({ state }, text) => paintState(out, state, text),
    },
    { head: 'queue', cell: ({ queue }) => queue },
    { head: 'handler', cell: ({ handler }) => handler },
  ];
}

function summary<Act extends string>(
  { tasks, counts, dryRun }: TreeView<Act>,
  words: Readonly<Record<Act, string>>,
): string {
  const parts = (Object.keys(counts) as Act[])
    .filter((act) => counts[act] > 0)
    .map((act) => `${formatCount(counts[act])} ${words[act]}`);
  const all = tasks.length === 1 ? '1 task' : `${formatCount(tasks.length)} tasks`;
  return `${all}: ${parts.join(', ')}.${dryRun ? ' Nothing was changed.' : ''}`;
}

/** Before any of several is changed: an id that is none, or of a task that is gone, changes nothing. */
export async function requireAll(operator: Operator, ids: readonly string[]): Promise<void> {
  if (ids.length > 1) for (const id of ids) await requireTask(operator, id);
}

/** Without a tree there is nothing that one could not see before. */
export function requireTree({ dryRun, tree }: Config, hint: string): void {
  if (dryRun && !tree) throw fault('INVALID_INPUT', { field: '--dry-run', problem: 'it goes with --tree' }, { hint });
}
