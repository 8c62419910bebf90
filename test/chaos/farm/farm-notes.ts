import { randomUUID } from 'node:crypto';
import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Everything that a process of the farm writes down, as it happens; times are CLOCK_MONOTONIC, the same for all. */
export type Note =
  | Ask
  | Told
  | { readonly note: 'saw'; readonly id: string; readonly state: string; readonly at: number }
  | Start
  | End
  | Parted
  | Stepped
  | Kept
  | { readonly note: 'stopped'; readonly id: string; readonly attempt: number; readonly at: number }
  | { readonly note: 'waits'; readonly id: string; readonly attempt: number; readonly at: number }
  | { readonly note: 'spawns'; readonly id: string; readonly attempt: number; readonly keys: readonly string[] }
  | { readonly note: 'exit'; readonly pid: number; readonly released: number; readonly at: number }
  | Struck
  | ({ readonly note: 'calls' } & Calls)
  | { readonly note: 'warned'; readonly pid: number; readonly what: string; readonly at: number }
  | { readonly note: 'died'; readonly pid: number; readonly code: number | null; readonly signal: string | null };

/** A client is about to ask. */
export interface Ask {
  readonly note: 'ask';
  readonly call: string;
  readonly verb: 'push' | 'cancel' | 'signal';
  /** `graph` for tasks of several kinds; of a signal, its channel. */
  readonly kind: string;
  /** What tells the tasks of a push apart; for a cancel, the public id; for a signal, its body. */
  readonly keys: readonly string[];
  /** Of a graph: what each of its tasks waits for. */
  readonly after?: readonly (readonly Upstream[])[];
}

export interface Upstream {
  readonly key: string;
  readonly optional: boolean;
}

/** What the client was told; where it is missing, or has an error, nobody knows whether it happened. */
export interface Told {
  readonly note: 'told';
  readonly call: string;
  readonly at: number;
  readonly pushed?: readonly { readonly id: string; readonly task: number }[];
  readonly cancel?: string;
  /** Numbers of the tasks that a signal woke. */
  readonly woken?: readonly number[];
  readonly error?: string;
}

/** A handler begins. Commands know their lease, `task/attempt`, and no more. */
export interface Start {
  readonly note: 'start';
  readonly id?: string;
  readonly attempt?: number;
  readonly lease?: string;
  readonly tries?: number;
  readonly max?: number;
  readonly pid: number;
  /** The worker process that it belongs to. */
  readonly worker?: number;
  readonly at: number;
}

export interface End {
  readonly note: 'end';
  readonly id: string;
  readonly attempt: number;
  readonly how: 'done' | 'retryAfter' | 'giveUp' | 'threw' | 'parked';
  /** Why it was told to stop, if it was. */
  readonly why?: string;
  readonly at: number;
}

/** The code of a step runs. */
export interface Stepped {
  readonly note: 'step';
  readonly id: string;
  readonly attempt: number;
  readonly place: string;
  readonly policy: 'repeat' | 'relaunch' | 'exact';
  readonly at: number;
}

/** A step or a wait has come back with what is remembered of it. */
export interface Kept {
  readonly note: 'kept';
  readonly id: string;
  readonly attempt: number;
  readonly place: string;
  readonly value: unknown;
  readonly at: number;
}

/** A worker has parted with a task that it had started. */
export interface Parted {
  readonly note: 'parted';
  readonly id: string;
  readonly attempt: number;
  readonly outcome: string;
  readonly worker: number;
  readonly at: number;
}

/** The farm sends a signal, or lets a frozen worker go on. */
export interface Struck {
  readonly note: 'struck';
  readonly signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM';
  readonly pid: number;
  readonly at: number;
}

/** What a process asked of Postgres in all, and how often an answer that was lost on the way was found again. */
export interface Calls {
  readonly asked: number;
  readonly failed: Readonly<Record<string, number>>;
  readonly pushesFound: number;
  readonly claimsFound: number;
}

export function now(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** One file for each process, opened with its first note, so that who writes nothing leaves nothing. */
export class Notes {
  readonly #folder: string;
  readonly #name: string;
  #file: number | undefined;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
  }

  write(note: Note): void {
    this.#file ??= openSync(join(this.#folder, `${this.#name}-${process.pid}-${randomUUID()}.jsonl`), 'a');
    writeSync(this.#file, `${JSON.stringify(note)}\n`);
  }
}

export function readNotes(folder: string): readonly Note[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.jsonl'));
  return files.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    // What follows the last line break is a line that death cut short.
    const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Note);
  });
}
