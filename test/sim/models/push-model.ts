import { isFinal } from '../../../src/core/task/task.ts';
import type {
  GraphAnswer,
  GraphTask,
  NewTask,
  PushAnswer,
  RunPush,
  RunPushAnswer,
  TriggerFiring,
} from '../../../src/store/store.ts';
import type { Board } from '../board.ts';
import { must } from '../trace.ts';
import type { GraphModel } from './graph-model.ts';

type Made = PushAnswer & { readonly ok: true };

/** How tasks come to be: each push once, by its operation id and its key. */
export class PushModel {
  readonly #board: Board;
  readonly #graph: GraphModel;
  readonly #ops = new Map<string, number | 'conflict'>();
  readonly #keys = new Map<string, { task: number; hash: number; until: number }>();
  readonly #slots = new Map<string, number>();

  constructor(board: Board, graph: GraphModel) {
    this.#board = board;
    this.#graph = graph;
  }

  pushed(items: readonly NewTask[], answers: readonly PushAnswer[]): void {
    for (const [i, item] of items.entries()) {
      const answer = answers[i] as PushAnswer;
      const expected = this.#expect(item);
      if (expected === 'conflict') {
        must(!answer.ok, 'I12', () => `key ${item.unique?.key} with another input was accepted`);
        this.#answered(item, 'conflict');
        this.#board.gates.reach('unique key refused another input');
        continue;
      }
      must(answer.ok, 'I12', () => `a push was refused without reason: ${JSON.stringify(item)}`);
      if (expected === undefined) this.#fresh(item, answer);
      else this.#repeated(item, answer, expected);
    }
  }

  /** The root of a tree with its name. */
  runPushed({ task: item }: RunPush, answer: RunPushAnswer): void {
    if (answer.kind === 'made') this.pushed([item], [{ ...answer, ok: true, fresh: true }]);
    else must(answer.kind === 'exists', 'I12', () => `a run was answered ${JSON.stringify(answer)}`);
  }

  /** All or nothing. */
  graphPushed(items: readonly GraphTask[], answer: GraphAnswer): void {
    const fresh = this.#graphAnswered(items, answer, undefined);
    if (fresh !== undefined) this.#board.gates.reach(fresh > 0 ? 'graph pushed' : 'graph repeated by operation id');
  }

  /** Children of one turn; those that a key leads to stay whose they were. */
  born(parent: number, items: readonly GraphTask[], answer: GraphAnswer): void {
    const fresh = this.#graphAnswered(items, answer, parent);
    if (fresh === undefined) return;
    this.#board.gates.reach(this.#board.task(parent).parent === undefined ? 'child born' : 'grandchild born', fresh);
    this.#board.gates.reach('key led a birth to a task that was there', items.length - fresh);
    if (fresh > 0 && items.some(({ after }) => after.length > 0)) this.#board.gates.reach('child born to wait');
  }

  /** How many are new; undefined: none, because it was refused. */
  #graphAnswered(items: readonly GraphTask[], answer: GraphAnswer, parent: number | undefined): number | undefined {
    const places = placesOf(items);
    const expected = items.map((item, i) => (places[i] === i ? this.#expect(item) : undefined));
    const twice = places.indexOf('conflict');
    const refused = twice >= 0 ? twice : expected.indexOf('conflict');
    if (refused >= 0) {
      const right = !answer.ok && 'conflict' in answer && answer.item === refused;
      must(right, 'I12', () => `a graph with a key that is taken was answered ${JSON.stringify(answer)}`);
      if (parent === undefined) this.#board.gates.reach('graph refused for the key of one');
      return undefined;
    }
    const gone = items.flatMap(({ after }) => after).find(({ task }) => task !== undefined && !this.#isThere(task));
    if (gone !== undefined) {
      const right = !answer.ok && 'unknown' in answer && answer.unknown === gone.task;
      must(right, 'deps', () => `a graph after ${gone.task}, which is gone, was answered ${JSON.stringify(answer)}`);
      if (parent === undefined) this.#board.gates.reach('graph refused for a task that is gone');
      return undefined;
    }
    must(answer.ok, 'deps', () => `a graph was refused without reason: ${JSON.stringify(answer)}`);
    return this.#graphMade(items, answer.tasks, places, expected as readonly (number | undefined)[], parent);
  }

  #graphMade(
    items: readonly GraphTask[],
    made: readonly Made[],
    places: readonly (number | 'conflict')[],
    expected: readonly (number | undefined)[],
    parent: number | undefined,
  ): number {
    const tasks = made.map(({ task }) => task);
    const fresh: { readonly item: GraphTask; readonly made: Made }[] = [];
    for (const [i, item] of items.entries()) {
      const own = made[i] as Made;
      const before = expected[i];
      if (places[i] !== i) {
        const first = tasks[places[i] as number];
        must(own.task === first && !own.fresh, 'I12', () => `${own.task} has the key of ${first}, of the same graph`);
      } else if (before !== undefined) {
        this.#repeated(item, own, before);
      } else {
        this.#fresh(item, own, parent);
        fresh.push({ item, made: own });
      }
    }
    const doomed = fresh.filter(({ item, made: { task } }) => this.#graph.plan(task, item, tasks));
    for (const { made: one } of doomed) this.#graph.endDoomed(one.task);
    for (const { made: one } of fresh) {
      const { state } = this.#board.task(one.task);
      must(one.state === state, 'deps', () => `${one.task} of a graph was called ${one.state}, it is ${state}`);
    }
    return fresh.length;
  }

  fired(firing: TriggerFiring, moved: boolean, answers: readonly PushAnswer[]): void {
    if (!moved) {
      this.#board.gates.reach('cron slot contested');
      return;
    }
    for (const [i, item] of firing.items.entries()) {
      const slot = item.unique?.key as string;
      const answer = answers[i] as PushAnswer;
      const before = this.#slots.get(slot);
      // A trigger that was removed and put again may come back to a slot; its task is then the same one.
      must(
        before === undefined || this.#board.isPruned(before) || (answer.ok && answer.task === before),
        'I11',
        () => `slot ${slot} fired twice`,
      );
      if (answer.ok) this.#slots.set(slot, answer.task);
      this.#board.gates.reach('cron slot fired');
      this.pushed([item], [answer]);
    }
  }

  #fresh(item: NewTask, answer: Made, parent?: number): void {
    const old = this.#board.tasks.has(answer.task);
    must(answer.fresh && !old, 'I6', () => `push answered with old task ${answer.task}`);
    this.#remember(item, answer.task, parent);
  }

  #repeated(item: NewTask, answer: Made, expected: number): void {
    must(answer.task === expected, 'I12', () => `a repeated push gave task ${answer.task} instead of ${expected}`);
    must(!answer.fresh, 'I12', () => `a repeated push called task ${answer.task} new`);
    this.#board.gates.reach(
      item.op && this.#ops.has(item.op) ? 'push repeated by operation id' : 'unique key led to the same task',
    );
    this.#answered(item, answer.task);
  }

  #expect(item: NewTask): number | 'conflict' | undefined {
    const byOp = item.op === undefined ? undefined : this.#ops.get(item.op);
    if (byOp !== undefined) return byOp;
    const held = item.unique && this.#keys.get(`${item.lane}/${item.unique.key}`);
    if (held === undefined || item.unique === undefined || this.#board.isPruned(held.task)) return undefined;
    const finished = isFinal(this.#board.task(held.task).state);
    if (held.until <= this.#board.wall && finished) return undefined;
    return held.hash === item.unique.hash ? held.task : 'conflict';
  }

  #isThere(task: number): boolean {
    return this.#board.tasks.has(task) && !this.#board.isPruned(task);
  }

  #remember(item: NewTask, task: number, parent: number | undefined): void {
    const { wall } = this.#board;
    const dueAt = item.runAt ?? (item.delayMs === undefined ? 0 : wall + item.delayMs);
    const state = dueAt > wall ? 'scheduled' : 'ready';
    this.#board.tasks.set(task, {
      state,
      bornAs: state,
      attempt: 0,
      tries: 0,
      maxTries: item.maxTries,
      leaseUntil: 0,
      dueAt,
      dueBack: this.#board.setBack,
      bornBack: this.#board.setBack,
      cancelRequested: false,
      holder: 0,
      suspect: false,
      expiresAt:
        item.waitTimeoutMs === undefined ? Number.POSITIVE_INFINITY : Math.max(dueAt, wall) + item.waitTimeoutMs,
      endedBy: new Map(),
      wentBack: new Map(),
      everEnded: false,
      endedAt: 0,
      result: undefined,
      lane: item.lane,
      payload: item.payload,
      createdAt: wall,
      parent,
      root: parent === undefined ? undefined : (this.#board.task(parent).root ?? parent),
      revivedAt: 0,
      openUps: new Set(),
      due: 0,
      wait: undefined,
      mute: undefined,
      wokenUntold: false,
      parkedBy: new Set(),
      taken: new Map(),
    });
    this.#answered(item, task);
    if (item.unique !== undefined) {
      const { key, hash, windowMs } = item.unique;
      this.#keys.set(`${item.lane}/${key}`, { task, hash, until: wall + windowMs });
    }
  }

  /** The first answer is the answer, whatever it was. */
  #answered(item: NewTask, answer: number | 'conflict'): void {
    if (item.op !== undefined && !this.#ops.has(item.op)) this.#ops.set(item.op, answer);
  }
}

/** The item that each one stands for: the first with its key, mostly itself. */
function placesOf(items: readonly GraphTask[]): readonly (number | 'conflict')[] {
  return items.map(({ unique }, i) => {
    const first = unique === undefined ? i : items.findIndex((other) => other.unique?.key === unique.key);
    return items[first]?.unique?.hash === unique?.hash ? first : 'conflict';
  });
}
