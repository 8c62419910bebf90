import type { Value, ValueMap } from '../expression/values.ts';

/** Where a run of a machine stands: plain JSON, so that any process can go on from it. */
export interface Snapshot {
  readonly executionId: string;
  readonly parentExecutionId?: string;
  /** How many machines are around this one. */
  readonly depth: number;
  /** How many there may be: its own bound, or that of a machine around it. */
  readonly maxDepth: number;
  readonly state: string;
  /** States entered so far. */
  readonly step: number;
  readonly phase: Phase;
  readonly context: ValueMap;
  readonly input: Value;
  /** What the state that runs has given so far. */
  readonly output: Value;
  /** What a state acts for, one after the other; null for one that does not. */
  readonly items: readonly Value[] | null;
  /** Results of a state that acts for each item, up to the one that runs now. */
  readonly results: readonly Value[];
  /** How many of `results` belong to this snapshot: later ones share the list. */
  readonly acted?: number;
  readonly totalApiCalls: number;
  readonly totalCost: number;
  readonly totalTokens: number;
  /** Time spent in calls of agents. */
  readonly totalAgentMs: number;
  /** By which agents go on: of each agent, and of each session that a state names. */
  readonly sessions: Readonly<Record<string, string>>;
  /** Where a transition leads that has left a tool loop. */
  readonly to?: string | undefined;
  /** States that called an agent, which `max_agent_calls` bounds. */
  readonly agentCalls: number;
  /** The error whose way on is being looked for. */
  readonly error?: MachineFault;
  readonly end?: End;
}

/** Before everything. The input of a run is kept with its task, and is in no patch. */
export function emptySnapshot(input: Value): Snapshot {
  return {
    executionId: '',
    depth: 0,
    maxDepth: 0,
    state: '',
    step: 0,
    phase: 'started?',
    context: {},
    input,
    output: null,
    items: null,
    results: [],
    totalApiCalls: 0,
    totalCost: 0,
    totalTokens: 0,
    totalAgentMs: 0,
    sessions: {},
    agentCalls: 0,
  };
}

/**
 * What comes next within a state, in the order of the language. Those that end in `?` wait for the answer to a command.
 */
export type Phase =
  | 'started?'
  | 'enter'
  | 'entered?'
  | 'wait'
  | 'waited?'
  | 'action'
  | 'acted?'
  | 'launch'
  | 'launched?'
  | 'machine'
  | 'invoked?'
  | 'agent'
  | 'answered?'
  | 'exit'
  | 'exited?'
  | 'move'
  | 'moved?'
  | 'recovered?'
  | 'close'
  | 'closed?'
  | 'ended';

export type Waiting = Extract<Phase, `${string}?`>;

export const isWaiting = (phase: Phase): phase is Waiting => phase.endsWith('?');

/** The phase that asked for the answer: a run that is resumed asks in it once more. */
export const ASKED_IN: Readonly<Record<Exclude<Waiting, 'started?' | 'entered?' | 'recovered?'>, Phase>> = {
  'waited?': 'wait',
  'acted?': 'action',
  'launched?': 'launch',
  'invoked?': 'machine',
  'answered?': 'agent',
  'exited?': 'exit',
  'moved?': 'move',
  'closed?': 'close',
};

export interface MachineFault {
  readonly type: string;
  readonly message: string;
}

export type End =
  | { readonly kind: 'completed'; readonly output: Value }
  | { readonly kind: 'failed'; readonly error: MachineFault };
