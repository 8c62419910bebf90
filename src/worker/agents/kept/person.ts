import type { Value } from '../../../flow/expression/values.ts';

/** What a person is asked. */
export interface Question {
  readonly title: string;
  readonly actions: readonly string[];
  readonly context: Value;
}

export interface Decision {
  readonly action: string;
  readonly value?: Value;
  readonly by?: string;
}

/**
 * Asks a person, and waits without a slot: the attempt ends, and the next one comes here again with the answer. `place` names the
 * question within the step. Undefined where nobody can be asked: within a process, and for many calls at once.
 */
export type AskPerson = (place: string, question: Question) => Promise<Decision>;
