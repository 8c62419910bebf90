import type { LimitUseInput } from '../../core/limits/limit.ts';
import type { Permissions } from '../../core/placement/permissions.ts';
import type { PlacementInput } from '../../core/placement/placement.ts';
import type { RetryInput } from '../../core/task/retry.ts';
import type { ReuseInput } from '../../core/task/reuse.ts';
import type { WorkspaceWish } from '../workspace/handler-workspace.ts';
import type { StandardSchema } from './schema.ts';

/** The part of a task's definition that a push needs: its names, how to check its input, and its defaults. */
export interface PushableTask<Input = never, Result = unknown> {
  readonly name: string;
  readonly queue: string;
  readonly schema: StandardSchema | undefined;
  readonly retry: RetryInput | undefined;
  readonly maxAttempts: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly waitTimeoutMs: number | undefined;
  readonly placement: PlacementInput | undefined;
  readonly limits: readonly (string | LimitUseInput)[] | undefined;
  readonly reuse: ReuseInput | undefined;
  readonly permissions: Permissions | undefined;
  /** Where its placement finds workers; undefined: it needs no workspace. */
  readonly workspace?: WorkspaceWish<never> | undefined;
  /** Only for the types of `push` and `result`. */
  readonly '~types'?: (input: Input) => Result;
}

export type AnyPushable = PushableTask<never, unknown>;
export type InputOf<T> = T extends PushableTask<infer I, infer _R> ? I : never;
/** The result as it is read back: stored as JSON, so that a Date is a string. */
export type ResultOf<T> = T extends PushableTask<infer _I, infer R> ? Jsonify<R> : never;

type Primitive = string | number | boolean | null | undefined;

/** The type of `JSON.parse(JSON.stringify(value))`. */
export type Jsonify<T> = unknown extends T
  ? T
  : T extends Primitive
    ? T
    : T extends { toJSON(): infer J }
      ? Jsonify<J>
      : T extends (...args: never[]) => unknown
        ? never
        : T extends readonly unknown[]
          ? { [K in keyof T]: Jsonify<T[K]> }
          : T extends object
            ? { [K in keyof T as T[K] extends (...args: never[]) => unknown ? never : K]: Jsonify<T[K]> }
            : never;
