/** What drivers answer, as the interpreter takes it. */
import { isMap, type Value, type ValueMap, withAll } from '../expression/values.ts';
import type { AgentAnswer, AgentSpent, MachineEvent } from './commands.ts';
import { fitting, fittingContext } from './scopes.ts';
import type { Snapshot } from './snapshot.ts';

export const valueOf = (event: MachineEvent): Value => ('value' in event ? event.value : null);

/** A hook that gives no map leaves the context as it was. */
export function mapFrom(event: MachineEvent, otherwise: ValueMap): ValueMap {
  const value = valueOf(event);
  return isMap(value) ? fittingContext(value) : otherwise;
}

export function without(map: ValueMap, name: string): ValueMap {
  const { [name]: _, ...others } = map;
  return others;
}

/** The snapshot with what the calls of an agent have used up. */
export function withSpent(snapshot: Snapshot, { apiCalls = 0, cost = 0, tokens = 0, ms = 0 }: AgentSpent): Snapshot {
  return {
    ...snapshot,
    totalApiCalls: snapshot.totalApiCalls + apiCalls,
    totalCost: snapshot.totalCost + cost,
    totalTokens: snapshot.totalTokens + tokens,
    totalAgentMs: snapshot.totalAgentMs + ms,
  };
}

/** The snapshot after an agent has answered; what that cost is counted already. `session`: where it is kept by what the agent goes on. */
export function withAnswer(snapshot: Snapshot, answer: AgentAnswer, session: string): Snapshot {
  const { output, content, context = {}, drop = [], sessionId, to } = answer;
  return {
    ...snapshot,
    output: fitting('output', output ?? (content === undefined ? {} : { content })),
    context: fittingContext(withAll(drop.reduce(without, snapshot.context), context)),
    sessions: sessionId === undefined ? snapshot.sessions : { ...snapshot.sessions, [session]: sessionId },
    agentCalls: snapshot.agentCalls + 1,
    to,
  };
}
