import type { Value, ValueMap } from '../expression/values.ts';

/** What a driver is asked to do. It answers with an event, and there is one command at a time. */
export type Command =
  | HookCommand
  | { readonly do: 'wait'; readonly channel: string; readonly timeoutMs: number | undefined }
  | {
      readonly do: 'action';
      readonly action: string;
      readonly context: ValueMap;
      readonly timeoutMs: number | undefined;
    }
  | { readonly do: 'launch'; readonly children: readonly Child[] }
  | {
      readonly do: 'invoke';
      readonly children: readonly Child[];
      /** `any`: the first that completes is enough. */
      readonly mode: 'settled' | 'any';
      readonly losers: 'cancel' | 'keep';
      readonly timeoutMs: number | undefined;
    }
  | AgentCommand
  | {
      /** The agent of a state with `foreach`, called for each item. */
      readonly do: 'agents';
      /** Calls of one `sessionId` go on with one conversation, one after the other. */
      readonly calls: readonly AgentCommand[];
      /** So many at once. */
      readonly most: number;
      readonly mode: 'settled' | 'any';
      readonly losers: 'cancel' | 'keep';
      /** Of all of them together. */
      readonly timeoutMs: number | undefined;
    };

export interface AgentCommand {
  readonly do: 'agent';
  readonly agent: string;
  readonly state: string;
  /** Names this step of this run, whichever attempt makes it. */
  readonly key: string;
  readonly context: ValueMap;
  readonly input: Value;
  /** By which this agent said that it goes on, when it was last called. */
  readonly session: string | undefined;
  readonly execution: ValueMap | undefined;
  readonly toolLoop: Value;
  /** `session_id` of the state: calls with the same one go on with one conversation. */
  readonly sessionId: string | undefined;
  readonly timeoutMs: number | undefined;
}

export interface Child {
  readonly machine: string;
  readonly input: Value;
}

export type HookCommand =
  | { readonly do: 'hook'; readonly hook: 'on_machine_start'; readonly context: ValueMap }
  | { readonly do: 'hook'; readonly hook: 'on_machine_end'; readonly context: ValueMap; readonly output: Value }
  | { readonly do: 'hook'; readonly hook: 'on_state_enter'; readonly state: string; readonly context: ValueMap }
  | {
      readonly do: 'hook';
      readonly hook: 'on_state_exit';
      readonly state: string;
      readonly context: ValueMap;
      readonly output: Value;
    }
  | {
      readonly do: 'hook';
      readonly hook: 'on_transition';
      readonly from: string;
      readonly to: string;
      readonly context: ValueMap;
    }
  | {
      readonly do: 'hook';
      readonly hook: 'on_error';
      readonly state: string;
      readonly type: string;
      readonly message: string;
      readonly context: ValueMap;
    };

export type HookName = HookCommand['hook'];

/** What became of a child. */
export type ChildEnd =
  | { readonly ok: true; readonly output: Value }
  | { readonly ok: false; readonly type: string; readonly message: string };

/** What the calls of an agent have used up, whether they succeeded or not. */
export interface AgentSpent {
  readonly apiCalls?: number;
  readonly cost?: number;
  readonly tokens?: number;
  readonly ms?: number;
  /** One by one, in the order in which they ended. */
  readonly calls?: readonly AgentCallRecord[];
}

/** One call of an agent, as it is kept with the step. */
export interface AgentCallRecord {
  readonly ms: number;
  readonly apiCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly cost: number;
  readonly finish?: string;
  readonly error?: string;
}

/** What an agent gave: any part may be missing. */
export interface AgentAnswer extends AgentSpent {
  readonly output?: ValueMap;
  readonly content?: string;
  readonly sessionId?: string;
  /** What the agent says of its work: drivers do not keep it. */
  readonly about?: ValueMap;
  /** What the tool loop leaves in the context, and what it takes away. */
  readonly context?: ValueMap;
  readonly drop?: readonly string[];
  /** A transition left the tool loop. */
  readonly to?: string;
}

/** What became of one of several calls. */
export type AgentEnd =
  | { readonly ok: true; readonly answer: AgentAnswer }
  | { readonly ok: false; readonly type: string; readonly message: string; readonly spent?: AgentSpent };

/** What a driver tells: the answer to the last command, or that it failed. */
export type MachineEvent =
  | { readonly kind: 'go' }
  /** Of a hook or a signal. */
  | { readonly kind: 'answer'; readonly value: Value }
  /** `same`: the hook gave back the context that it was given, with what it wrote there. */
  | { readonly kind: 'acted'; readonly value: Value; readonly same: boolean }
  | { readonly kind: 'launched' }
  /** In the order of the children; undefined for one that had not ended when another had won. */
  | { readonly kind: 'invoked'; readonly ends: readonly (ChildEnd | undefined)[] }
  | { readonly kind: 'agent'; readonly answer: AgentAnswer }
  /** In the order of the calls; undefined for one that had not ended, or not begun, when another had won. */
  | { readonly kind: 'agents'; readonly ends: readonly (AgentEnd | undefined)[] }
  /** `also`: wider names of the error, for an `on_error` that does not know the type. */
  | {
      readonly kind: 'failed';
      readonly type: string;
      readonly message: string;
      readonly also?: readonly string[];
      readonly spent?: AgentSpent;
    };
