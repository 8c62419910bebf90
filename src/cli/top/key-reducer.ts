import { safeLine } from '../display/safe.ts';
import { clip } from '../display/width.ts';
import type { Key } from './keys.ts';
import { type Entry, type Lists, PANELS, type Panel } from './lists.ts';
import type { Act, Intent, Open, State } from './state.ts';

/** What was on the screen when the key was pressed. */
export interface KeyContext {
  readonly lists: Lists;
  /** Rows that the moving part shows at a time. */
  readonly page: number;
  /** How far what is open can be scrolled. */
  readonly furthest: number;
}

export interface KeyResult {
  readonly state: State;
  readonly intent?: Intent;
}

const LONGEST_FILTER = 60;
/** As long as the id of a task, whose end is what tells it from others. */
const LONGEST_NAME = 44;

/** One key: what is shown next, and what is to be done. */
export function reduceKey(before: State, key: Key, view: KeyContext): KeyResult {
  if (key === 'ctrl-c') return { state: before, intent: { kind: 'quit' } };
  if (key === 'ctrl-z') return { state: before, intent: { kind: 'suspend' } };
  if (key === 'ctrl-l') return { state: before, intent: { kind: 'redraw' } };
  // What was said last has been read.
  const state: State = { ...before, status: undefined };
  switch (state.mode) {
    case 'ask':
      return answer(state, key);
    case 'filter':
      return { state: typed(state, key) };
    case 'keys':
      return { state: { ...state, mode: 'browse' } };
    case 'browse':
      if (key === 'q') return { state, intent: { kind: 'quit' } };
      return { state: command(state, key, view) };
  }
}

function answer(state: State, key: Key): KeyResult {
  const { asked, ...rest } = state;
  const next: State = { ...rest, mode: 'browse' };
  if (asked !== undefined && (key === 'y' || key === 'Y'))
    return { state: next, intent: { kind: 'act', act: asked.act } };
  return { state: says(next, 'Nothing was changed.') };
}

function typed(state: State, key: Key): State {
  const { filter } = state;
  if (key === 'enter') return { ...state, mode: 'browse' };
  if (key === 'escape') return { ...state, mode: 'browse', filter: '' };
  if (key === 'ctrl-u') return { ...state, filter: '' };
  if (key === 'backspace') return { ...state, filter: Array.from(filter).slice(0, -1).join('') };
  return Array.from(key).length === 1 ? { ...state, filter: (filter + key).slice(0, LONGEST_FILTER) } : state;
}

function command(state: State, key: Key, view: KeyContext): State {
  if (key === '?' || key === 'h') return { ...state, mode: 'keys' };
  if (key === 'p') return askQueue(state, view);
  if (key === 'c') return askTask(state, view);
  if (key === 'd') return askWorker(state, view);
  const panel = PANELS[Number(key) - 1];
  if (/^\d$/.test(key) && panel !== undefined) return { ...state, panel, open: undefined };
  if (state.open !== undefined) return inDetail(state, state.open, key, view);
  switch (key) {
    case '/':
      return { ...state, mode: 'filter' };
    case 'tab':
    case 'right':
      return { ...state, panel: beside(state.panel, 1) };
    case 'backtab':
    case 'left':
      return { ...state, panel: beside(state.panel, -1) };
    case 'enter':
      return openChosen(state, view.lists);
    case 'escape':
      return { ...state, filter: '' };
    default:
      return moved(state, key, view);
  }
}

function beside(panel: Panel, step: number): Panel {
  return PANELS[(PANELS.indexOf(panel) + step + PANELS.length) % PANELS.length] as Panel;
}

/** Rows up or down that a key means; undefined: it means none. */
function stepOf(key: Key, page: number): number | undefined {
  const steps: Readonly<Record<Key, number>> = {
    up: -1,
    k: -1,
    down: 1,
    j: 1,
    pageup: -Math.max(1, page),
    pagedown: Math.max(1, page),
    home: Number.NEGATIVE_INFINITY,
    g: Number.NEGATIVE_INFINITY,
    end: Number.POSITIVE_INFINITY,
    G: Number.POSITIVE_INFINITY,
  };
  return Object.hasOwn(steps, key) ? steps[key] : undefined;
}

/** Where the chosen row is now; -1: there are none. Of events the newest is chosen until somebody moves. */
export function indexOf(state: State, panel: Panel, entries: readonly Entry<unknown>[]): number {
  const choice = state.chosen[panel];
  if (choice === undefined) return panel === 'events' ? entries.length - 1 : Math.min(0, entries.length - 1);
  const found = entries.findIndex(({ key }) => key === choice.key);
  // An event that has left the list was older than all that are in it.
  if (found === -1 && panel === 'events') return Math.min(0, entries.length - 1);
  return found === -1 ? Math.min(choice.index, entries.length - 1) : found;
}

function moved(state: State, key: Key, { lists, page }: KeyContext): State {
  const { panel } = state;
  const entries: readonly Entry<unknown>[] = lists[panel];
  const step = stepOf(key, page);
  if (step === undefined || entries.length === 0) return state;
  const index = Math.max(0, Math.min(entries.length - 1, indexOf(state, panel, entries) + step));
  const { [panel]: _left, ...others } = state.chosen;
  // At the end of the events the tail is followed again.
  if (panel === 'events' && index === entries.length - 1) return { ...state, chosen: others };
  return { ...state, chosen: { ...others, [panel]: { key: (entries[index] as Entry<unknown>).key, index } } };
}

function inDetail(state: State, open: Open, key: Key, { page, furthest }: KeyContext): State {
  if (key === 'escape' || key === 'backspace' || key === 'left') return { ...state, open: undefined };
  if (key === 'tab' && open.panel === 'tasks')
    return { ...state, open: { ...open, part: open.part === 'log' ? 'page' : 'log', scroll: 0 } };
  const step = stepOf(key, page);
  if (step === undefined) return state;
  // The scroll of a log counts from its end.
  const scroll = Math.min(open.scroll, furthest) + (open.part === 'log' ? -step : step);
  return { ...state, open: { ...open, scroll: Math.max(0, Math.min(furthest, scroll)) } };
}

function chosen<P extends Panel>(state: State, panel: P, lists: Lists): Lists[P][number]['item'] | undefined {
  const entries: Lists[P] = lists[panel];
  return entries[indexOf(state, panel, entries)]?.item;
}

function openChosen(state: State, lists: Lists): State {
  const found = whatOpens(state, lists);
  if (found === undefined) return state;
  const [panel, name] = found;
  return { ...state, open: { panel, name, part: panel === 'tasks' ? 'log' : 'page', scroll: 0 } };
}

function whatOpens(state: State, lists: Lists): readonly [Open['panel'], string] | undefined {
  const { panel } = state;
  if (panel === 'events') {
    const event = chosen(state, panel, lists);
    if (event?.task !== undefined) return ['tasks', event.task];
    return event?.worker === undefined ? undefined : ['workers', event.worker];
  }
  if (panel === 'tasks') {
    const task = chosen(state, panel, lists);
    return task && [panel, task.id];
  }
  const one = chosen(state, panel, lists);
  return one && [panel, one.name];
}

/** What a key is about: what is open, or else the row that is chosen in its panel while that has the focus. */
function subject(state: State, panel: Open['panel'], lists: Lists): string | undefined {
  if (state.open !== undefined) return state.open.panel === panel ? state.open.name : undefined;
  return state.panel === panel ? whatOpens(state, lists)?.[1] : undefined;
}

function askQueue(state: State, { lists }: KeyContext): State {
  const queue = subject(state, 'queues', lists);
  if (queue === undefined) return says(state, 'p pauses or resumes a queue: choose one in panel 1.');
  const paused = lists.queues.find(({ key }) => key === queue)?.item.paused ?? false;
  return paused
    ? asks(state, `Resume queue ${quoted(queue)}?`, { kind: 'resume', queue })
    : asks(state, `Pause queue ${quoted(queue)}? What runs goes on.`, { kind: 'pause', queue });
}

function askTask(state: State, { lists }: KeyContext): State {
  const task = subject(state, 'tasks', lists);
  if (task === undefined) return says(state, 'c cancels a task: choose one in panel 3.');
  return asks(state, `Cancel ${quoted(task)}?`, { kind: 'cancel', task });
}

function askWorker(state: State, { lists }: KeyContext): State {
  const worker = subject(state, 'workers', lists);
  if (worker === undefined) return says(state, 'd drains or enables a worker: choose one in panel 2.');
  const enabled = lists.workers.find(({ item }) => item.name === worker)?.item.enabled ?? true;
  return enabled
    ? asks(state, `Drain worker ${quoted(worker)}? It takes nothing more; what it runs goes on.`, {
        kind: 'drain',
        worker,
      })
    : asks(state, `Let worker ${quoted(worker)} take tasks again?`, { kind: 'enable', worker });
}

function asks(state: State, text: string, act: Act): State {
  return { ...state, mode: 'ask', asked: { text, act } };
}

function says(state: State, text: string): State {
  return { ...state, status: { tone: 'plain', text } };
}

function quoted(name: string): string {
  return clip(safeLine(name), LONGEST_NAME);
}
