import { type Duration, parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { encodePayload } from '../../core/task/payload.ts';
import { backoffMs, normalizeRetry, type RetryPolicy } from '../../core/task/retry.ts';
import { numberIn, type Place } from '../../flow/workflow/workflow-journal.ts';
import { outcomeOf } from '../define/outcome.ts';
import { checkOptions } from '../durable/check-options.ts';
import { storedError } from './step-error.ts';
import type { StepRules, WorkflowStep } from './workflow-context.ts';
import type { Settle, WorkflowRun } from './workflow-run.ts';

interface Rules {
  readonly policy: 'repeat' | 'exact';
  readonly timeoutMs: number | undefined;
  readonly retry: RetryPolicy;
  readonly maxAttempts: number;
}

type StepFunction = (step: WorkflowStep) => unknown;

const RULES: ReadonlySet<string> = new Set(['retry', 'timeout', 'policy'] satisfies (keyof StepRules)[]);
const ONCE: Rules = { policy: 'repeat', timeoutMs: undefined, retry: normalizeRetry({}), maxAttempts: 1 };
const MOST_TRIES = 1000;
/** A shorter pause before the next try keeps the slot. */
const LONGEST_IN_SLOT_MS = 5000;

/** Steps: code that runs once, and whose result is kept. */
export class StepCalls {
  readonly #run: WorkflowRun;

  constructor(run: WorkflowRun) {
    this.#run = run;
  }

  call(place: Place, fn: StepFunction, given: StepRules): Promise<unknown> {
    const rules = rulesOf(place.name, given);
    if (typeof fn !== 'function')
      throw fault('INVALID_INPUT', { field: `step ${place.name}`, problem: 'it needs a function' });
    return this.#run.call<unknown>(place, {
      read: (text) => JSON.parse(text ?? 'null') as unknown,
      begin: (settle) => this.#begin(place, this.#run.replaced?.(place.name) ?? fn, rules, settle),
    });
  }

  #begin(place: Place, fn: StepFunction, rules: Rules, settle: Settle): void {
    const { key } = place;
    const run = this.#run;
    const tries = numberIn(run.notes.get(`try:${key}`) ?? '0');
    const due = run.notes.get(`due:${key}`);
    if (tries > 0 && due !== undefined) this.#pause(place, fn, rules, settle, { tries, due: numberIn(due) });
    else run.run(() => this.#perform(place, fn, rules, settle, tries));
  }

  async #perform(place: Place, fn: StepFunction, rules: Rules, settle: Settle, before: number): Promise<void> {
    const { key } = place;
    const run = this.#run;
    if (rules.policy === 'exact') {
      if (run.notes.has(`begun:${key}`) && before === 0) {
        settle.failed(storedError(fault('STEP_UNCERTAIN', { step: place.name, key: keyOf(run, key) })));
        return;
      }
      run.note({ what: `begun:${key}`, kind: 'mark', value: run.attempt.request.attempt });
    }
    for (let tries = before + 1; ; tries++) {
      if (!(await run.beforeEffect())) return;
      const began = Math.floor(run.world.clock.wall());
      const tried = await this.#try(place, fn, rules, tries);
      if ('text' in tried) {
        const { text } = tried;
        const value: unknown = JSON.parse(text);
        // The workflow may change what it is given before that is stored.
        const own: unknown = typeof value === 'object' ? JSON.parse(text) : value;
        settle.done({ what: key, kind: 'value', value, began, length: text.length }, own);
        return;
      }
      // What a stop has thrown is no result.
      if (run.stopSteps.aborted || run.attempt.signal.aborted) return;
      if (tried.final || tries >= rules.maxAttempts) {
        settle.failed(storedError(tried.error));
        return;
      }
      const pause = tried.delayMs ?? backoffMs(rules.retry, tries, run.world.random());
      if (pause > LONGEST_IN_SLOT_MS) {
        const due = Math.ceil(run.world.clock.wall() + pause);
        run.note({ what: `try:${key}`, kind: 'mark', value: tries });
        run.note({ what: `due:${key}`, kind: 'mark', value: due });
        this.#pause(place, fn, rules, settle, { tries, due });
        return;
      }
      await this.#inSlot(pause);
    }
  }

  /** Without the slot, if nothing else needs it. */
  #pause(
    place: Place,
    fn: StepFunction,
    rules: Rules,
    settle: Settle,
    { tries, due }: { readonly tries: number; readonly due: number },
  ): void {
    const run = this.#run;
    const end = (): void => run.run(() => this.#perform(place, fn, rules, settle, tries));
    run.waits.add({ key: place.key, due, end });
  }

  #inSlot(ms: number): Promise<void> {
    const { stopSteps, world } = this.#run;
    return new Promise((resolve) => {
      const cancel = world.timers.after(ms, () => {
        stopSteps.removeEventListener('abort', stop);
        resolve();
      });
      const stop = (): void => {
        cancel();
        resolve();
      };
      stopSteps.addEventListener('abort', stop, { once: true });
    });
  }

  async #try(
    place: Place,
    fn: StepFunction,
    { timeoutMs }: Rules,
    tries: number,
  ): Promise<
    { readonly text: string } | { readonly error: unknown; readonly final: boolean; readonly delayMs?: number }
  > {
    const step = new Step(this.#run, place.key, tries, timeoutMs);
    try {
      const outcome = outcomeOf(await step.within(() => this.#run.inStep(async () => fn(step))));
      if (outcome.kind === 'giveUp') return { error: outcome.error, final: true };
      if (outcome.kind === 'retryAfter') return { error: outcome.reason, final: false, delayMs: outcome.delayMs };
      const value = outcome.kind === 'done' ? outcome.result : undefined;
      return { text: encodePayload(value ?? null, { field: `value of step ${place.name}` }) };
    } catch (error) {
      return { error, final: false };
    }
  }
}

/** What the code of a step is given. */
class Step implements WorkflowStep {
  readonly key: string;
  readonly tries: number;
  readonly #run: WorkflowRun;
  readonly #timeoutMs: number | undefined;
  #late: AbortController | undefined;
  #signal: AbortSignal | undefined;

  constructor(run: WorkflowRun, key: string, tries: number, timeoutMs: number | undefined) {
    this.#run = run;
    this.key = keyOf(run, key);
    this.tries = tries;
    this.#timeoutMs = timeoutMs;
  }

  /** Made at the first use: most steps never look at it. */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#late = new AbortController();
      this.#signal = AbortSignal.any([this.#late.signal, this.#run.stopSteps, this.#run.attempt.signal]);
    }
    return this.#signal;
  }

  async within(fn: () => Promise<unknown>): Promise<unknown> {
    const ms = this.#timeoutMs;
    if (ms === undefined) return fn();
    const late = Promise.withResolvers<never>();
    const cancel = this.#run.world.timers.after(ms, () => {
      const error = Object.assign(new Error(`it took more than ${ms} ms`), { name: 'TimeoutError' });
      this.#late?.abort(error);
      late.reject(error);
    });
    try {
      return await Promise.race([fn(), late.promise]);
    } finally {
      cancel();
    }
  }
}

function keyOf(run: WorkflowRun, key: string): string {
  return `${run.attempt.request.id}/${key}`;
}

function rulesOf(name: string, given: StepRules): Rules {
  if (given === undefined || Object.keys(given).length === 0) return ONCE;
  checkOptions(`options of step ${name}`, given, RULES);
  const { retry = 1, timeout, policy = 'repeat' } = given;
  if (policy !== 'repeat' && policy !== 'exact') {
    throw fault('INVALID_INPUT', { field: `policy of step ${name}`, problem: 'it is one of repeat, exact' });
  }
  const { maxAttempts = typeof retry === 'number' ? retry : 3, ...pauses } = typeof retry === 'number' ? {} : retry;
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > MOST_TRIES) {
    const problem = `the tries are a whole number from 1 to ${MOST_TRIES}`;
    throw fault('INVALID_INPUT', { field: `retry of step ${name}`, problem });
  }
  return {
    policy,
    maxAttempts,
    retry: normalizeRetry(pauses),
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout as Duration, `timeout of step ${name}`),
  };
}
