import { isFinal } from '../../core/task/task.ts';
import type { Engine } from '../../engine/engine.ts';
import { budgetOf } from '../../engine/read/run-sentence.ts';
import type { TreeRecord, WaitRecord } from '../../engine/records.ts';
import type { RunWaitView } from '../../protocol/views.ts';
import { requestOf } from '../operations/approvals.ts';

/** Waits that are shown of one tree. */
const MOST_WAITS = 50;

type Waiting = Pick<TreeRecord, 'task' | 'createdAt' | 'state'>;

/** What the root and the members of a tree wait for, the root first. */
export async function waitsOf(
  engine: Engine,
  root: Waiting,
  members: readonly TreeRecord[],
): Promise<readonly RunWaitView[]> {
  const waiting = [root, ...members].filter(({ state }) => state === 'waiting').slice(0, MOST_WAITS);
  const children = Map.groupBy(members, ({ parent }) => parent);
  const waits: RunWaitView[] = [];
  for (const member of waiting) {
    const wait = await engine.store.waitGet({ task: member.task });
    if (wait?.outcome !== 'open') continue;
    const { others = [], ...first } = wait;
    for (const one of [first, ...others.map((other) => ({ ...first, form: undefined, ...other }))]) {
      waits.push(viewOf(engine.idOf(member), one, children.get(member.task) ?? []));
    }
  }
  return waits;
}

function viewOf(task: string, wait: WaitRecord, children: readonly TreeRecord[]): RunWaitView {
  const { key, since, deadline, channel } = wait;
  const common = { task, key, since, ...(deadline === undefined ? {} : { deadline }) };
  if (wait.form !== undefined) {
    const { title, actions, form } = requestOf(wait);
    return { ...common, kind: 'approval', title, actions, ...(form === undefined ? {} : { form }) };
  }
  if (channel !== undefined) return { ...common, kind: budgetOf(channel) === undefined ? 'signal' : 'budget', channel };
  const ended = children.filter(({ state }) => isFinal(state)).length;
  if (ended === children.length) return { ...common, kind: 'time' };
  return { ...common, kind: 'children', children: { ended, all: children.length } };
}
