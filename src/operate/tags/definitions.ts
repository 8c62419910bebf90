import type { PlacementInput } from '../../core/placement/placement.ts';
import { CREDENTIAL, parseTest, passes, readTag } from '../../core/placement/tag.ts';
import type { Engine } from '../../engine/engine.ts';
import { graphPermissions } from '../../flow/graph/graph-permissions.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { storedWorkflow } from '../workflows/stored.ts';

/** Something that is stored and names tags: what it will push requires them, or the workers that it starts carry them. */
export interface TagUser {
  readonly kind: 'pool' | 'schedule' | 'trigger' | 'workflow';
  readonly name: string;
  /** Tests of tags; of a pool the tags themselves. */
  readonly tests: readonly string[];
}

const PAGE = 500;

/** All pools, schedules, triggers and stored workflows that name tags. */
export async function tagUsers(snapshot: EngineSnapshot): Promise<readonly TagUser[]> {
  const { engine } = snapshot;
  const [pools, triggers, schedules, workflows] = await Promise.all([
    engine.pools.list(),
    engine.triggers.list(),
    scheduleTests(engine),
    workflowTests(snapshot),
  ]);
  return [
    ...pools.map(({ name, worker }) => ({ kind: 'pool' as const, name, tests: worker.tags })),
    ...schedules,
    ...triggers.map(({ trigger: { name, push } }) => ({
      kind: 'trigger' as const,
      name,
      tests: testsIn((push as { readonly placement?: PlacementInput } | undefined)?.placement),
    })),
    ...workflows,
  ].filter(({ tests }) => tests.length > 0);
}

/** Whether a worker with this tag alone would pass the test. */
export function asksFor(test: string, tag: string): boolean {
  return passes(parseTest('tag', test), [readTag(tag)]);
}

async function scheduleTests({ store }: Engine): Promise<readonly TagUser[]> {
  const records = (await store.triggerList()).filter(({ workflow }) => workflow === undefined);
  const lanes = await store.laneGet({ lanes: records.map(({ lane }) => lane) });
  return records.map(({ name }, i) => ({
    kind: 'schedule',
    name,
    tests: lanes[i]?.rules?.placement.requires ?? [],
  }));
}

async function workflowTests(snapshot: EngineSnapshot): Promise<readonly TagUser[]> {
  const found: TagUser[] = [];
  for (let after = ''; ; ) {
    const page = await snapshot.engine.workflows.list({ after, limit: PAGE });
    for (const record of page) {
      const { graph } = await storedWorkflow(snapshot, record);
      found.push({ kind: 'workflow', name: record.name, tests: graphPermissions(graph, '').tags ?? [] });
    }
    if (page.length < PAGE) return found;
    after = (page.at(-1) as { readonly name: string }).name;
  }
}

const testsIn = ({ requires = [], credentials = [] }: PlacementInput = {}): readonly string[] => [
  ...requires,
  ...credentials.map((name) => `${CREDENTIAL}${name}`),
];
