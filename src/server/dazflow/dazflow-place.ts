import type { Engine } from '../../engine/engine.ts';
import type { LaneRules, TaskRecord } from '../../engine/records.ts';
import { EngineSnapshot } from '../../operate/engine-snapshot.ts';
import { graphNodes } from '../../operate/runs/graph-nodes.ts';
import type { DazflowPlace } from '../../protocol/dazflow.ts';
import type { Assignment } from '../../protocol/link.ts';

const CREDENTIAL = 'credential:';
/** The entry of a run's journal that bore the task of a node: its number in the graph, and the item. */
const NODE_KEY = /^n:(\d+)\//;

/** Where a task stands, in the words of dazflow: the run, the node of its graph, and what it asks of an agent. */
export async function dazflowPlace(engine: Engine, one: Pick<Assignment, 'task'>): Promise<DazflowPlace | undefined> {
  const record = await engine.get(one.task);
  if (record === undefined) return undefined;
  const [[lane], named] = await Promise.all([engine.store.laneGet({ lanes: [record.lane] }), nodeOf(engine, record)]);
  return { ...named, ...asks(lane?.rules) };
}

async function nodeOf(
  engine: Engine,
  { task, parent, root }: TaskRecord,
): Promise<Pick<DazflowPlace, 'execution_id' | 'workflow_name' | 'node_id'>> {
  const run = await engine.runs.get(root ?? task);
  const execution_id = run === undefined ? null : (run.name ?? run.id);
  if (run?.kind !== 'graph' || parent === undefined || parent !== root) return { execution_id };
  const [nodes, entries] = await Promise.all([graphNodes(new EngineSnapshot(engine), run), engine.journal(parent)]);
  const key = entries.find(({ ref }) => ref === task)?.key ?? '';
  const node = nodes[Number(NODE_KEY.exec(key)?.[1])];
  return { execution_id, workflow_name: run.title, ...(node === undefined ? {} : { node_id: node }) };
}

function asks(rules: LaneRules | undefined): Pick<DazflowPlace, 'agent_config' | 'required_credential'> {
  const { only = [], requires = [] } = rules?.placement ?? {};
  const credential = requires.find((tag) => tag.startsWith(CREDENTIAL));
  return {
    agent_config: {
      agents: only,
      requiredTags: requires.filter((tag) => !tag.startsWith(CREDENTIAL)),
      concurrencyGroup: rules?.limits[0]?.name ?? null,
    },
    required_credential: credential === undefined ? null : credential.slice(CREDENTIAL.length),
  };
}
