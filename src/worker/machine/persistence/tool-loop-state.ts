import { isList, isMap, type Value, type ValueMap } from '../../../flow/expression/values.ts';

/** How far a tool loop is, as the wire format tells it: for people and other programs. A run goes on by the ledger itself. */
export function toolLoopState(ledger: ReadonlyMap<string, ValueMap>): ValueMap {
  const chain: Value[] = [];
  let turns = 0;
  let calls = 0;
  let cost = 0;
  for (const [key, value] of ledger) {
    if (key.startsWith('m:')) {
      turns++;
      cost += costOf(value['records']);
      const { content = '', tool_calls = [] } = isMap(value['result']) ? value['result'] : {};
      chain.push({
        role: 'assistant',
        content,
        ...(isList(tool_calls) && tool_calls.length > 0 ? { tool_calls } : {}),
      });
    } else if (key.startsWith('t:')) {
      calls++;
      chain.push({ role: 'tool', tool_call_id: key.slice(key.indexOf(':', 2) + 1), content: value['content'] });
    }
  }
  return { chain, turns, tool_calls_count: calls, loop_cost: cost };
}

function costOf(records: Value): number {
  const costs = isList(records) ? records.map((one) => (isMap(one) ? Number(one['cost']) : 0)) : [];
  return costs.reduce((sum, one) => sum + (Number.isFinite(one) ? one : 0), 0);
}
