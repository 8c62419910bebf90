/** How a node of a graph stands, in words, and how all of them stand together. */

export interface Standing {
  readonly state: string;
  readonly kept?: number | undefined;
  readonly rejected?: number | undefined;
  readonly began?: number | undefined;
  readonly ended?: number | undefined;
  readonly tasks?:
    | { readonly all: number; readonly ended: number; readonly running: number; readonly failed: number }
    | undefined;
}

/** The order in which they are told. */
export const NODE_STATES = ['failed', 'running', 'waiting', 'done', 'skipped', 'outside'] as const;

/** The state of tasks whose colour and glyph it has. */
const TONES: Readonly<Record<string, string>> = {
  done: 'completed',
  skipped: 'cancelled',
  outside: 'left',
};

export const toneOfNode = (state: string): string => TONES[state] ?? state;

const WORDS: Readonly<Record<string, string>> = { outside: 'not in this run' };

/** `over`: the run has ended, so that what waits will not begin. */
export const wordOfNode = (state: string, over = false): string =>
  over && state === 'waiting' ? 'not reached' : (WORDS[state] ?? state);

export function countStates(nodes: readonly Standing[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { state } of nodes) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

/** What stands in the second line of its box: tasks while it runs, items once it has ended. */
export function nodeCaption({ state, kept, rejected, tasks }: Standing, type: string, pinned: boolean): string {
  if (state === 'running' && tasks !== undefined && tasks.all > 1)
    return `${tasks.ended.toLocaleString('en')} of ${tasks.all.toLocaleString('en')} tasks`;
  if (state === 'done' && kept !== undefined) {
    const items = `${kept.toLocaleString('en')} ${kept === 1 ? 'item' : 'items'}`;
    return rejected === undefined
      ? `${items}${pinned ? ' pinned' : ''}`
      : `${kept.toLocaleString('en')} / ${rejected.toLocaleString('en')} items`;
  }
  return type;
}

/** Between 0 and 1, of a node with several tasks. */
export function progressOf({ state, tasks }: Standing): number | undefined {
  return state === 'running' && tasks !== undefined && tasks.all > 1 ? tasks.ended / tasks.all : undefined;
}

/** Of the nodes that are part of the run. */
export function progressOfGraph(counts: ReadonlyMap<string, number>): { readonly over: number; readonly all: number } {
  const of = (state: string): number => counts.get(state) ?? 0;
  const over = of('done') + of('skipped');
  return { over, all: over + of('failed') + of('running') + of('waiting') };
}
