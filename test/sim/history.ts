import type { AfterFailure } from '../../src/core/graph/graph.ts';

/** What a client saw: nothing of the engine's tables, only calls and their answers. `unknown`: no answer came. */
export type Status = 'ok' | 'refused' | 'unknown';

export type Entry =
  | {
      readonly kind: 'push';
      readonly op: string;
      readonly key: string | undefined;
      readonly input: string;
      readonly status: Status;
      readonly task: number | undefined;
    }
  | { readonly kind: 'grant'; readonly task: number; readonly attempt: number; readonly claim: string }
  | {
      readonly kind: 'settle';
      readonly task: number;
      readonly attempt: number;
      readonly to: 'completed' | 'failed' | 'cancelled' | 'again';
      readonly result: string | undefined;
      readonly status: Status;
    }
  | { readonly kind: 'cancel'; readonly task: number; readonly answer: string | undefined; readonly status: Status }
  | { readonly kind: 'revive'; readonly task: number; readonly status: Status }
  /** Nodes that need others to complete; what is optional says nothing about the end. */
  | { readonly kind: 'graph'; readonly nodes: readonly GraphNode[] }
  | {
      readonly kind: 'signal';
      readonly op: string;
      readonly status: Status;
      readonly woken: readonly number[] | undefined;
    }
  /** What a handler was told of its wait. */
  | {
      readonly kind: 'heard';
      readonly task: number;
      readonly key: string;
      readonly outcome: string;
      readonly body: string | undefined;
    }
  /** The child that a handler was told of under a key. */
  | { readonly kind: 'birth'; readonly task: number; readonly key: string; readonly child: number }
  /** What a handler was told to be remembered. */
  | { readonly kind: 'remember'; readonly task: number; readonly key: string; readonly value: string }
  | { readonly kind: 'event'; readonly seq: number; readonly task: number };

export interface GraphNode {
  readonly task: number;
  readonly needs: readonly number[];
  readonly afterFailure: AfterFailure;
}

export class History {
  readonly entries: Entry[] = [];
  /** Pushes that were sent and have not been answered. */
  openPushes = 0;
  /** Births that somebody has asked for: the task and the key. */
  readonly births = new Set<string>();

  bears(task: number, key: string): void {
    this.births.add(`${task} ${key}`);
  }

  add(entry: Entry): void {
    this.entries.push(entry);
  }
}
