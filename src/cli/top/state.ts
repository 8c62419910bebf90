import type { Panel } from './lists.ts';

/** What is changed when somebody says yes. */
export type Act =
  | { readonly kind: 'pause' | 'resume'; readonly queue: string }
  | { readonly kind: 'cancel'; readonly task: string }
  | { readonly kind: 'drain' | 'enable'; readonly worker: string };

/** What a key asks of the world outside. */
export type Intent = { readonly kind: 'quit' | 'suspend' | 'redraw' } | { readonly kind: 'act'; readonly act: Act };

export interface Status {
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
}

/** The row that was chosen. Its place is kept too: when it is gone, the one that took its place is chosen. */
export interface Choice {
  readonly key: string;
  readonly index: number;
}

/** The one thing that is shown in full. */
export interface Open {
  readonly panel: Exclude<Panel, 'events'>;
  /** The name of a queue, worker or limit; the id of a task. */
  readonly name: string;
  /** Which part of it moves and has most of the room; only tasks have a log. */
  readonly part: 'page' | 'log';
  /** Lines from the top of a page, or back from the end of a log. */
  readonly scroll: number;
}

/** Everything that keys change. */
export interface State {
  readonly panel: Panel;
  readonly chosen: Readonly<Partial<Record<Panel, Choice>>>;
  readonly filter: string;
  /** `filter`: keys are letters of the filter. `ask`: the next key answers. `keys`: the list of keys is shown. */
  readonly mode: 'browse' | 'filter' | 'ask' | 'keys';
  readonly asked?: { readonly text: string; readonly act: Act } | undefined;
  readonly open?: Open | undefined;
  readonly status?: Status | undefined;
}

export const FIRST: State = { panel: 'queues', chosen: {}, filter: '', mode: 'browse' };
