import { fault } from '../../core/errors.ts';
import { AFTER_FAILURE, type AfterFailure, checkAcyclic } from '../../core/graph/graph.ts';
import { checkKey } from '../../core/names.ts';
import type { Edge, GraphAnswer, GraphTask, Store } from '../../store/store.ts';
import { checkList, checkTask } from '../check.ts';
import type { PushRequest } from './push.ts';
import { otherContent, type Pushed, type TaskInterner } from './pushes.ts';

/** A task of a graph: a push with a name and with what it waits for. */
export interface GraphRequest extends PushRequest {
  /** The name by which other tasks of the same call refer to it; default its position, counted from 0. */
  readonly name?: string | undefined;
  /** What must have ended before: names of this call, or existing tasks by number. */
  readonly after?: readonly (string | number | DependencyRequest)[];
  /** What becomes of it when a dependency has failed or was cancelled; default `cancel`. */
  readonly afterFailure?: AfterFailure | undefined;
}

export interface DependencyRequest {
  readonly on: string | number;
  /** Only its end is waited for, whatever it is. Default: it must have completed. */
  readonly optional?: boolean | undefined;
}

const MAX_TASKS = 10_000;

export interface GraphsDeps {
  readonly store: Pick<Store, 'graphPush'>;
  readonly tasks: TaskInterner;
}

/** Pushes tasks that wait for each other, all or nothing. Cycles and unknown names are refused before anything is stored. */
export class Graphs {
  readonly #deps: GraphsDeps;

  constructor(deps: GraphsDeps) {
    this.#deps = deps;
  }

  async push(requests: readonly GraphRequest[]): Promise<readonly Pushed[]> {
    const items = await this.items(requests);
    return this.pushed(items, await this.#deps.store.graphPush({ items }));
  }

  /** Turns the store's answer into what the caller gets, and gives the hints of a push. */
  pushed(items: readonly GraphTask[], answer: GraphAnswer): readonly Pushed[] {
    if (answer.ok) return this.#deps.tasks.pushed(items, answer.tasks);
    if ('unknown' in answer) throw fault('NOT_FOUND', { kind: 'task', id: answer.unknown });
    const { conflict: task, item, byOp = false } = answer;
    if (byOp) throw otherContent(task, { index: item });
    throw fault('UNIQUE_CONFLICT', { key: items[item]?.unique?.key, task, index: item });
  }

  /** Checks the requests, and turns them into the form that the store takes. */
  async items(requests: readonly GraphRequest[]): Promise<readonly GraphTask[]> {
    checkList('tasks', requests);
    if (requests.length > MAX_TASKS) {
      throw fault('INVALID_INPUT', { field: 'tasks', problem: `a graph has at most ${MAX_TASKS} tasks` });
    }
    const names = namesOf(requests);
    const edges = requests.map(({ after = [] }) => after.map((one) => edgeOf(one, names)));
    const labels = [...names.keys()];
    checkAcyclic(
      edges.map((own) => ({ after: own.flatMap(({ item }) => (item === undefined ? [] : [item])) })),
      (place) => labels[place] ?? String(place),
    );
    const items: GraphTask[] = [];
    for (const [i, { name: _, after: __, afterFailure = 'cancel', ...request }] of requests.entries()) {
      if (!AFTER_FAILURE.includes(afterFailure)) {
        throw fault('INVALID_INPUT', { field: 'afterFailure', problem: `it is one of ${AFTER_FAILURE.join(', ')}` });
      }
      const own = edges[i] as readonly Edge[];
      if (own.length > 0 && (request.delay ?? request.runAt ?? request.waitTimeout) !== undefined) {
        throw fault('INVALID_INPUT', {
          field: 'after',
          problem: 'a task with dependencies cannot have a delay, runAt or waitTimeout',
        });
      }
      items.push({ ...(await this.#deps.tasks.place(request)), after: own, afterFailure });
    }
    return items;
  }
}

function namesOf(requests: readonly GraphRequest[]): ReadonlyMap<string, number> {
  const names = new Map<string, number>();
  for (const [i, request] of requests.entries()) {
    const name = request?.name === undefined ? String(i) : checkKey('name', request.name);
    if (names.has(name)) throw fault('INVALID_INPUT', { field: 'name', problem: `two tasks are named ${name}` });
    names.set(name, i);
  }
  return names;
}

function edgeOf(given: string | number | DependencyRequest, names: ReadonlyMap<string, number>): Edge {
  const { on, optional = false } = typeof given === 'object' && given !== null ? given : { on: given };
  if (typeof optional !== 'boolean')
    throw fault('INVALID_INPUT', { field: 'after', problem: 'optional is true or false' });
  if (typeof on === 'number') {
    checkTask(on);
    return { task: on, optional };
  }
  const item = names.get(on);
  if (item === undefined) {
    throw fault('INVALID_INPUT', { field: 'after', problem: `no task of this graph is named ${JSON.stringify(on)}` });
  }
  return { item, optional };
}
