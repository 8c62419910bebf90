import type { Reason, TaskState } from '../../operate/views.ts';
import type { Format, Out } from './out.ts';
import type { Column } from './table.ts';

/** States differ by symbol as well as by colour: not everybody sees colours. */
const STATE_STYLES: Readonly<Record<TaskState, { readonly symbol: string; readonly colour: Format }>> = {
  ready: { symbol: '○', colour: 'blue' },
  running: { symbol: '●', colour: 'cyan' },
  scheduled: { symbol: '◷', colour: 'magenta' },
  waiting: { symbol: '◌', colour: 'dim' },
  completed: { symbol: '✓', colour: 'green' },
  failed: { symbol: '✗', colour: 'red' },
  cancelled: { symbol: '⊘', colour: 'yellow' },
};

export const STATES = Object.keys(STATE_STYLES) as readonly TaskState[];

/** `✓ completed`. */
export function stateText(state: TaskState): string {
  return `${STATE_STYLES[state].symbol} ${state}`;
}

export function paintState({ paint }: Pick<Out, 'paint'>, state: TaskState, text: string): string {
  return paint(STATE_STYLES[state].colour, text);
}

const REASON_WORDS: Readonly<Record<Exclude<Reason, 'none'>, string>> = {
  exhausted: 'all its tries are used up',
  replaced: 'a newer task took its place in a limit',
  undeliverable: 'workers took it again and again and could not start it',
  gave_up: 'its handler gave up, so it is not tried again',
  requested: 'somebody asked for it',
  dependency: 'a task that it depends on did not complete',
  timeout: 'its time ran out',
};

/** The reason of an end in words; undefined where the state says it all. */
export function reasonWords(reason: Reason | undefined): string | undefined {
  return reason === undefined || reason === 'none' ? undefined : REASON_WORDS[reason];
}

/** The state of a task or a run, in its colour. */
export function stateColumn(out: Out): Column<{ readonly state: TaskState }> {
  return {
    head: 'state',
    cell: ({ state }) => state,
    show: ({ state }) => stateText(state),
    paint: ({ state }, text) => paintState(out, state, text),
  };
}
