import type { PushRequest } from '../../src/engine/push/push.ts';
import type { Pushed } from '../../src/engine/push/pushes.ts';
import {
  DELAYS_MS,
  HANDLERS,
  KEYS,
  MAX_TRIES,
  OPS,
  POISON,
  POLICIES,
  PRIORITIES,
  QUEUES,
  VALUES,
  WINDOWS_MS,
  WRONG,
} from './corpus.ts';
import { DAY_MS, type ModelPush, type ModelTask, must } from './model-parts.ts';
import { at, BY, operation, TASK } from './operation.ts';
import { type Answer, outcome, type Rig, refused } from './rig.ts';

/** The same push for the engine and for the model. */
export type Twin = readonly [PushRequest, ModelPush];

export interface PushNumbers {
  readonly queue: number;
  readonly handler: number;
  readonly value: number;
  readonly priority?: number;
  readonly tries?: number;
  readonly policy?: number;
}

export function pushOf(
  n: PushNumbers,
  more: Pick<ModelPush, 'delayMs' | 'runAt' | 'unique' | 'op'> & { readonly input?: unknown } = {},
): Twin {
  const input = 'input' in more ? more.input : at(VALUES, n.value);
  const [retry, policy] = at(POLICIES, n.policy ?? 0);
  const plain = {
    queue: at(QUEUES, n.queue),
    handler: at(HANDLERS, n.handler),
    priority: at(PRIORITIES, n.priority ?? 0),
  };
  const maxTries = at(MAX_TRIES, n.tries ?? 0);
  const { delayMs, runAt, unique, op } = more;
  const request: PushRequest = {
    ...plain,
    input,
    maxAttempts: maxTries,
    ...(retry === undefined ? {} : { retry }),
    ...(delayMs === undefined ? {} : { delay: delayMs }),
    ...(runAt === undefined ? {} : { runAt }),
    ...(unique === undefined ? {} : { unique: { key: unique.key, window: unique.windowMs } }),
    ...(op === undefined ? {} : { op }),
  };
  return [request, { ...plain, payload: textOf(input), maxTries, policy, delayMs, runAt, unique, op }];
}

export function textOf(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

export async function push(rig: Rig, by: number, twin: Twin): Promise<ModelTask | undefined> {
  const [request, wanted] = twin;
  return judgePushed(rig, by, wanted, await outcome(rig.engine(by).push(request)));
}

export function judgePushed(rig: Rig, by: number, wanted: ModelPush, answer: Answer<Pushed>): ModelTask | undefined {
  const { model, gates } = rig;
  const due = model.judgePush(wanted);
  model.queue(wanted.queue); // its lane is made first, whatever becomes of the push
  if (due !== 'create' && 'conflict' in due) {
    must('error' in answer && answer.error === due.error, `the key of task ${due.conflict} was given away`);
    gates.reach(
      due.error === 'CONFLICT' ? 'operation id refused for other content' : 'unique key refused for another input',
    );
    model.remember(wanted, due.conflict, undefined);
    return undefined;
  }
  must('value' in answer, `a push was refused: ${'error' in answer ? answer.error : ''}`);
  const { value } = answer;
  must(rig.engine(by).parseId(value.id) === value.task, `the public id ${value.id} does not lead to ${value.task}`);
  if (due === 'create') {
    must(value.fresh, `a new push was taken for task ${value.task}`);
    const task = model.create(value.task, wanted);
    must(value.createdAt === task.createdAt && value.state === task.state, `task ${task.id} was born ${value.state}`);
    return task;
  }
  const { existing } = due;
  must(value.task === existing.id && !value.fresh, `a repeated push made task ${value.task}, not ${existing.id}`);
  must(value.createdAt === existing.createdAt, `a repeated push says ${value.createdAt}, not ${existing.createdAt}`);
  gates.reach(
    wanted.op !== undefined && model.pushOps.has(wanted.op) ? 'push repeated by its op' : 'unique key led to its task',
  );
  if ('gone' in existing) return undefined;
  must(value.state === existing.state, `a repeated push says ${value.state}, not ${existing.state}`);
  model.remember(wanted, existing.id, existing.createdAt);
  return existing;
}

/** Judges several pushes: new tasks are numbered in their order, or as they were answered if they were. */
export async function judgeByFeed(
  rig: Rig,
  pushes: readonly ModelPush[],
  answer?: Answer<readonly Pushed[]>,
): Promise<'fine' | 'conflict'> {
  const { model } = rig;
  const answered = answer !== undefined && 'value' in answer ? answer.value : [];
  const made: [number, ModelPush][] = [];
  const born = (await rig.readNew()).filter(({ change }) => change === 'created').map(({ task }) => task);
  born.sort((a, b) => a - b);
  let conflict = false;
  for (const [i, wanted] of pushes.entries()) {
    const due = model.judgePush(wanted);
    model.queue(wanted.queue);
    if (due === 'create') {
      const at = answered[i] === undefined ? 0 : born.indexOf(answered[i].task);
      const [id] = at < 0 ? [] : born.splice(at, 1);
      must(id !== undefined, 'a push of several made no task');
      made.push([id, wanted]);
    } else if ('conflict' in due) {
      model.remember(wanted, due.conflict, undefined);
      conflict = true;
    } else model.remember(wanted, due.existing.id, due.existing.createdAt);
  }
  must(born.length === 0, `tasks ${born.join()} were made by nobody`);
  for (const [id, wanted] of made.sort(([a], [b]) => a - b)) model.create(id, wanted);
  return conflict ? 'conflict' : 'fine';
}

const pushOne = operation(12, { by: BY, ...TASK }, (rig, n) => push(rig, n.by, pushOf(n)));

const pushLater = operation(6, { by: BY, ...TASK, delay: DELAYS_MS.length, form: 3 }, (rig, n) => {
  const delayMs = at(DELAYS_MS, n.delay);
  const when = at([{ delayMs }, { runAt: rig.model.wall + delayMs }, { runAt: rig.model.wall - delayMs }], n.form);
  return push(rig, n.by, pushOf(n, when));
});

const pushUnique = operation(
  8,
  { by: BY, ...TASK, key: KEYS.length, window: WINDOWS_MS.length, op: 8, later: 4 },
  (rig, n) =>
    push(
      rig,
      n.by,
      // Values 3 and 12 are the same input with its keys in another order.
      pushOf(
        { ...n, handler: n.handler * (n.value % 2), value: at([1, 3, 12], n.value) },
        {
          unique: { key: at(KEYS, n.key), windowMs: at(WINDOWS_MS, n.window) },
          ...(n.op < 2 ? { op: at(OPS, n.op) } : {}),
          ...(n.later === 3 ? { delayMs: 60_000 } : {}),
        },
      ),
    ),
);

/** Mostly each id with content of its own, so that some are repeats. Values 3 and 12 are the same input. */
const pushWithOp = operation(4, { by: BY, ...TASK, op: OPS.length, other: 3 }, (rig, n) => {
  const own = { ...n, queue: n.op, handler: 0, value: at([3, 12], n.value) };
  return push(rig, n.by, pushOf(n.other === 0 ? n : own, { op: at(OPS, n.op) }));
});

const pushPoison = operation(4, { by: BY, poison: POISON.length + WRONG.length }, async (rig, n) => {
  const poison = POISON[n.poison];
  const [wrong, code] = poison === undefined ? at(WRONG, n.poison - POISON.length) : [{ input: poison[0] }, poison[1]];
  await refused(rig.engine(n.by).push({ queue: 'alpha', handler: 'run', ...wrong }), code);
  rig.gates.reach('poison refused');
});

const pushMany = operation(3, { by: BY, ...TASK, count: 12, bad: 6, key: 12 }, async (rig, n) => {
  const twins: Twin[] = Array.from({ length: n.count + 1 }, (_, i) =>
    pushOf(
      { ...n, queue: n.queue + i, value: n.value + i, priority: n.priority + i },
      {
        ...(i % 5 === 4 ? { delayMs: 2_000 } : {}),
        ...(i === n.key ? { unique: { key: at(KEYS, n.key), windowMs: 3_600_000 } } : {}),
      },
    ),
  );
  const requests = twins.map(([request]) => request);
  if (n.bad === 5) {
    requests.splice(n.count, 0, { ...(requests[0] as Twin[0]), input: '\u0000' });
    await refused(rig.engine(n.by).pushMany(requests), 'INVALID_INPUT');
    rig.gates.reach('many refused for one bad item');
    return;
  }
  const answer = await outcome(rig.engine(n.by).pushMany(requests));
  const due = await judgeByFeed(
    rig,
    twins.map(([, wanted]) => wanted),
    answer,
  );
  if (due === 'conflict') must('error' in answer && answer.error === 'UNIQUE_CONFLICT', 'a conflict was not reported');
  else must('value' in answer && answer.value.length === twins.length, 'a push of several was refused');
});

const pushTwins = operation(2, { ...TASK, key: KEYS.length, count: 3 }, async (rig, n) => {
  const unique = { key: at(KEYS, n.key), windowMs: DAY_MS };
  const [request, wanted] = pushOf({ ...n, handler: 0, value: 1 }, { unique });
  const calls = Array.from({ length: n.count + 2 }, (_, i) => outcome(rig.engine(i % 2).push(request)));
  const answers = await Promise.all(calls);
  // Whichever came first made the task; all others must have been led to it.
  const first = answers.findIndex((answer) => 'value' in answer && answer.value.fresh);
  const order = first < 0 ? answers : [answers[first] as (typeof answers)[number], ...answers.toSpliced(first, 1)];
  for (const answer of order) judgePushed(rig, 0, wanted, answer);
});

const pushInTransaction = operation(
  2,
  { by: BY, ...TASK, count: 3, end: 2, key: 6 },
  async (rig, n) => {
    const caller = await rig.caller();
    const twins = Array.from({ length: n.count + 1 }, (_, i) =>
      pushOf(
        { ...n, queue: n.queue + i },
        n.key === i ? { unique: { key: at(KEYS, n.key), windowMs: 3_600_000 } } : {},
      ),
    );
    await caller.begin();
    const answer = await outcome(
      (async () =>
        rig.engine(n.by).pushIn(
          caller.tx,
          twins.map(([request]) => request),
        ))(),
    );
    if (n.end === 1 || 'error' in answer) {
      await caller.rollback();
      rig.gates.reach('caller rolled back');
      return;
    }
    await caller.commit();
    const due = await judgeByFeed(
      rig,
      twins.map(([, wanted]) => wanted),
      answer,
    );
    must(due === 'fine', 'a conflict was not reported');
    rig.gates.reach('pushed in the caller’s transaction');
  },
  ['file', 'postgres'],
);

export const PUSHING = {
  pushOne,
  pushLater,
  pushUnique,
  pushWithOp,
  pushPoison,
  pushMany,
  pushTwins,
  pushInTransaction,
};
