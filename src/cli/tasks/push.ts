import { createReadStream } from 'node:fs';
import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { type PushRequest, pushOne, pushSeveral } from '../../operate/calls/push-calls.ts';
import type { Operator } from '../../operate/operator.ts';
import { readSigningKey, signTask } from '../../operate/signing.ts';
import type { PushedView } from '../../operate/views.ts';
import { type Out, outFor } from '../display/out.ts';
import { formatTook } from '../display/time.ts';
import { readKeyFile } from '../keys/key-file.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { formatCount, formatRate } from '../kit/figures.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { progressFor } from '../kit/progress-for.ts';
import { missingText } from '../settings/words.ts';
import { followTasks } from './follow.ts';
import { parseInline, readInputs } from './push-inputs.ts';

/** Tasks in one call of the engine, which splits them into transactions. */
const BATCH = 1000;
/** On a terminal more ids would scroll the summary away. */
const MOST_SHOWN = 20;

/** `leasehold push QUEUE [JSON|-]`. */
export const push: Command = {
  name: 'push',
  doc: 'Add tasks to a queue',
  args: [
    { name: 'QUEUE', doc: 'The queue; created if it does not exist' },
    {
      name: 'JSON|-',
      doc: 'The input, {} if there is none; - reads standard input: JSON, or one JSON value a line',
      optional: true,
    },
  ],
  options: [
    'handler',
    'file',
    'count',
    'priority',
    'delay',
    'unique',
    'reuse',
    'reuseKey',
    'maxAttempts',
    'timeout',
    'waitTimeout',
    'require',
    'only',
    'never',
    'limitUse',
    'useCost',
    'fair',
    'permissions',
    'signKey',
    'signFor',
    'follow',
    'durability',
    ...OPERATOR_OPTIONS,
  ],
  examples: [
    {
      line: `push shell '{"command": "date"}' --follow`,
      does: 'one task for the handler of that name, followed to its end',
    },
    { line: 'push papers - --handler summarise < papers.ndjson', does: 'a task for each line of a file' },
    {
      line: 'push papers --require gpu --limit openai:alice --fair alice',
      does: 'only where there is a gpu, within a limit, in turn with others',
    },
  ],

  run(args) {
    const { config, args: words } = loadCall(push, args);
    const [queue, text] = words as [string, string?];
    checkTogether(config, text);
    const out = outFor(config);
    return withOperator(config, (operator) => pushAll(operator, { queue, text, config, out }), { create: true });
  },
};

interface PushCall {
  readonly queue: string;
  readonly text: string | undefined;
  readonly config: Config;
  readonly out: Out;
}

async function pushAll(operator: Operator, call: PushCall): Promise<number> {
  const { config, out } = call;
  const after = config.follow ? (await operator.call('readEvents')).last : 0;
  const tally = new Tally(call);
  const progress = progressFor(config, 'pushed', isStream(call) ? undefined : config.count);
  try {
    for await (const inputs of batchesOf(call)) {
      if (config.unique !== undefined && tally.count + inputs.length > 1) throw oneKeyOneTask();
      const requests = inputs.map((input) => request(signed(input, call), call));
      const pushed =
        requests.length === 1
          ? [await pushOne(operator, requests[0] as PushRequest)]
          : await pushSeveral(operator, requests);
      tally.add(pushed);
      progress.add(pushed.length);
    }
  } catch (error) {
    progress.end();
    const stored = tally.count + storedBeside(error);
    const words =
      stored === 1
        ? '1 task was pushed before this error and stays.'
        : `${formatCount(stored)} tasks were pushed before this error and stay.`;
    if (stored > 0) out.note(words);
    throw error;
  }
  progress.end();
  tally.tell(progress.tookMs);
  await warnOfMissing(operator, call);
  return config.follow ? followTasks(operator, { ids: [...tally.tasks], after, out }) : EXIT.fine;
}

/** A typing error in a tag keeps tasks waiting for ever. */
async function warnOfMissing(operator: Operator, { config, out }: PushCall): Promise<void> {
  if (config.require.length === 0 || out.mode === 'json') return;
  const { tags } = await operator.call('listTags');
  const missing = tags.filter((tag) => tag.missing && config.require.some((test) => asksFor(test, tag.tag)));
  for (const tag of missing) out.note(out.paint('yellow', `! ${missingText(tag)}`));
}

const asksFor = (test: string, tag: string): boolean => test === tag || tag.startsWith(`${test}=`);

/** Stored tasks of the same batch: one refused task does not hold back the others. */
function storedBeside(error: unknown): number {
  const stored = isEngineError(error) ? error.details?.stored : undefined;
  return typeof stored === 'number' ? stored : 0;
}

/** The pushed tasks: printed at once for programs, and as a summary for people. */
class Tally {
  readonly #call: PushCall;
  readonly #shown: PushedView[] = [];
  #last: PushedView | undefined;
  #fresh = 0;
  count = 0;
  /** Filled only with --follow. */
  readonly tasks = new Set<string>();

  constructor(call: PushCall) {
    this.#call = call;
  }

  add(pushed: readonly PushedView[]): void {
    const { config, out } = this.#call;
    for (const task of pushed) {
      this.count += 1;
      if (task.fresh) this.#fresh += 1;
      if (this.#shown.length < MOST_SHOWN) this.#shown.push(task);
      if (config.follow) this.tasks.add(task.id);
      if (config.count === 1) this.#tellOne(task, out);
    }
    this.#last = pushed.at(-1) ?? this.#last;
  }

  #tellOne(task: PushedView, out: Out): void {
    const { queue, config } = this.#call;
    const { id, state, createdAt, fresh } = task;
    if (out.mode === 'json') out.json({ id, queue, handler: config.handler ?? queue, state, createdAt, fresh });
    if (out.mode === 'plain') out.line(id);
  }

  /** Prints the summary. */
  tell(tookMs: number): void {
    const { config, out } = this.#call;
    const [first] = this.#shown;
    if (first === undefined) return;
    if (out.mode === 'json') {
      if (config.count > 1) out.json(this.#summary(first, tookMs));
      return;
    }
    if (out.mode === 'plain' && config.count === 1) return;
    for (const line of this.#lines(first, tookMs)) out.line(line);
    if (out.mode === 'screen' && !config.follow) out.note(out.paint('dim', this.#hint()));
  }

  #summary(first: PushedView, tookMs: number): object {
    const { queue } = this.#call;
    const ids = { firstId: first.id, lastId: this.#last?.id };
    return { queue, pushed: this.count, fresh: this.#fresh, ...ids, tookMs: Math.round(tookMs) };
  }

  #lines(first: PushedView, tookMs: number): readonly string[] {
    const { queue, out } = this.#call;
    const { count } = this;
    if (count === 1) return [one(first, queue, out)];
    const rate = formatRate((count * 1000) / Math.max(1, tookMs));
    const words = `Pushed ${formatCount(count)} tasks to ${queue} in ${formatTook(tookMs)} (${rate}).`;
    if (out.mode === 'screen' && count <= MOST_SHOWN) return [...this.#shown.map(({ id }) => id), words];
    return [words, `First ${first.id}, last ${this.#last?.id}.`];
  }

  #hint(): string {
    return this.count === 1
      ? '"leasehold tasks show ID" tells how it stands.'
      : `"leasehold tasks list --queue ${this.#call.queue}" tells how they stand.`;
  }
}

function one({ id, state, fresh }: PushedView, queue: string, out: Out): string {
  if (!fresh) return `${id} was there before under this key (${state}); nothing was added.`;
  return `Pushed ${out.paint('bold', id)} to ${queue} (${state}).`;
}

/** The number of inputs from a file or a stream is not known before. */
function isStream({ text, config }: PushCall): boolean {
  return text === '-' || config.file !== undefined;
}

/** Inputs in batches, each repeated `--count` times. */
async function* batchesOf(call: PushCall): AsyncGenerator<readonly unknown[]> {
  const { text, config } = call;
  if (!isStream(call)) {
    yield* copies(text === undefined ? {} : parseInline(text), config.count);
    return;
  }
  const source = config.file === undefined ? process.stdin : createReadStream(config.file, { highWaterMark: 262_144 });
  const name = config.file ?? 'standard input';
  const inputs = readInputs(source.setEncoding('utf8') as AsyncIterable<string>, { name, most: BATCH });
  try {
    if (config.count === 1) yield* inputs;
    else for await (const group of inputs) for (const input of group) yield* copies(input, config.count);
  } catch (error) {
    throw isEngineError(error) ? error : unreadable(name, error);
  }
}

function* copies(input: unknown, count: number): Generator<readonly unknown[]> {
  for (let left = count; left > 0; left -= BATCH) {
    yield Array.from({ length: Math.min(BATCH, left) }, () => input);
  }
}

function request(input: unknown, { queue, config }: PushCall): PushRequest {
  const { handler = queue, priority, delay, unique, maxAttempts, timeout, waitTimeout, permissions } = config;
  return {
    queue,
    handler,
    input,
    priority,
    ...(delay === undefined ? {} : { delay }),
    ...(unique === undefined ? {} : { unique }),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(waitTimeout === undefined ? {} : { waitTimeout }),
    ...(permissions === undefined ? {} : { permissions }),
    ...reuseOf(config),
    ...rules(config),
  };
}

/** The input as it is sent: a signature speaks for each byte of it. */
function signed(input: unknown, { queue, config }: PushCall): unknown {
  const { signKey: file, signFor, handler = queue } = config;
  if (file === undefined) return input;
  const notAfter = signFor === undefined ? undefined : Date.now() + signFor;
  const payload = JSON.stringify(input ?? null);
  return signTask({ queue, handler, payload }, readSigningKey(file, readKeyFile(file)), notAfter);
}

/** An age or a key alone turns reuse on. */
function reuseOf({ reuse: maxAge, reuseKey: key }: Config): Pick<PushRequest, 'reuse'> {
  return maxAge === undefined && key === undefined ? {} : { reuse: { maxAge, key } };
}

/** Placement, limits and fairness. */
function rules(config: Config): Pick<PushRequest, 'placement' | 'limits' | 'fairness'> {
  const { require: requires, only, never, limitUse, useCost: cost, fair } = config;
  const placed = requires.length + only.length + never.length > 0;
  return {
    ...(placed ? { placement: { requires, only, never } } : {}),
    ...(limitUse.length === 0 ? {} : { limits: limitUse.map((use) => ({ ...use, cost })) }),
    ...(fair === undefined ? {} : { fairness: fair }),
  };
}

function checkTogether(config: Config, text: string | undefined): void {
  if (text !== undefined && config.file !== undefined) {
    throw fault('INVALID_INPUT', {
      field: '--file',
      problem: 'the input is given on the command line as well; give one of them',
    });
  }
  if (config.unique !== undefined && config.count > 1) throw oneKeyOneTask();
  if (config.useCost > 0 && config.limitUse.length === 0) {
    throw fault('INVALID_INPUT', {
      field: '--cost',
      problem: 'it is counted by a limit, and none is given with --limit',
    });
  }
}

function oneKeyOneTask(): Error {
  return fault(
    'INVALID_INPUT',
    { field: '--unique', problem: 'one key holds one task, and this would push several' },
    { hint: 'Push them one by one, each with a key of its own.' },
  );
}

function unreadable(name: string, error: unknown): Error {
  const { message } = error as Error;
  return fault(
    'INVALID_INPUT',
    { field: name, problem: `it cannot be read (${message})` },
    { hint: 'Check the path and its permissions.', cause: error },
  );
}
