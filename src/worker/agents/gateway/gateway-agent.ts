import { EngineError } from '../../../core/errors.ts';
import type { World } from '../../../core/world.ts';
import type { Agent } from '../../../flow/agent/definition.ts';
import { outputInstruction, renderPrompts } from '../../../flow/agent/prompt.ts';
import type { AgentError, AgentResult } from '../../../flow/agent/result.ts';
import { Secrets } from '../../../flow/agent/secrets.ts';
import { isMap, type Value } from '../../../flow/expression/values.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import type { Reach } from '../chat-endpoint.ts';
import type { AgentExecutor, CallOptions } from '../executor.ts';
import { heldToOutput } from '../held-to-output.ts';
import { withinMs } from '../within.ts';
import { broken, type GatewayFacts } from './answer.ts';
import { execute, GatewayFailed, openSession, sessionFor } from './session.ts';
import { type GatewayKind, type GatewaySettings, gatewaySettings, UNIVERSAL_AGENT } from './settings.ts';

export interface GatewaySurroundings {
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  readonly sendable: ReadonlySet<string> | undefined;
  readonly world: Pick<World, 'timers'>;
  readonly reach: Reach;
}

/** An agent behind a gateway, which plans, calls its tools and goes through its iterations itself. */
export function gatewayAgent(agent: Agent, around: GatewaySurroundings): AgentExecutor {
  return {
    metadata: agent.metadata,
    tools: [],
    execute: async (input, call) => heldToOutput(agent, await asked(agent, input, call, around)),
  };
}

async function asked(
  agent: Agent,
  input: Value,
  { key, sessionId, signal, onEvent, memory }: CallOptions,
  around: GatewaySurroundings,
): Promise<AgentResult> {
  const { world, reach } = around;
  const settings = settingsOf(agent, around, UNIVERSAL_AGENT);
  const prompt = promptOf(agent, input);
  const gateway = { settings, reach };
  const { value, isCounted = false } = (await memory?.resume()) ?? {};
  const before = keptIn(value);
  try {
    const result = await withinMs(world.timers, settings.timeoutMs, signal, async (stop) => {
      const wanted = sessionId ?? before?.session ?? sessionFor(key);
      const session = await openSession(gateway, wanted, stop);
      // A session that is gone knows nothing of the request.
      const resumes = before !== undefined && before.session === session;
      if (!resumes) await memory?.keep({ session, iterations: 0, calls: 0, tokens: 0 });
      else onEvent?.({ type: 'resumed', data: { message: `session ${session}` } });
      const keep = async (facts: GatewayFacts): Promise<void> => memory?.keep({ session, ...facts });
      return execute(
        gateway,
        { session, prompt, key, before: resumes ? { ...before, isCounted } : undefined },
        { signal: stop, onEvent, keep: memory === undefined ? undefined : keep },
      );
    });
    return withoutToken(result, settings);
  } catch (error) {
    signal.throwIfAborted();
    return withoutToken({ error: errorOf(error), finish_reason: 'error' }, settings);
  }
}

/** What is wrong with them is so at the next try as well. */
export function settingsOf(
  { profile, name }: Agent,
  { environment, sendable }: GatewaySurroundings,
  kind: GatewayKind,
): GatewaySettings {
  try {
    return gatewaySettings(profile.config, name, environment(), sendable, kind);
  } catch (error) {
    if (error instanceof EngineError) throw new StateError('ValidationError', [error.message, error.hint].join(' '));
    throw error;
  }
}

/** An agent without a prompt of its own is asked what its input says. */
export function promptOf(agent: Agent, input: Value): string {
  const given = isMap(input) ? input : {};
  const { user } = renderPrompts(agent, given);
  const task = [given['prompt'], given['task']].find((one) => typeof one === 'string' && one !== '');
  const own = user === '' && typeof task === 'string' ? task : user;
  if (own.trim() === '') {
    throw new StateError(
      'ValidationError',
      'a gateway needs a prompt: "user" of the agent, or "prompt" or "task" of the input',
    );
  }
  const instruction = outputInstruction(agent);
  return instruction === undefined ? own : `${own}\n\n${instruction}`;
}

/** A count that is none is 0: the journal holds what an earlier release has written, too. */
function keptIn(value: Value): (GatewayFacts & { readonly session: string }) | undefined {
  if (!isMap(value) || typeof value['session'] !== 'string') return undefined;
  const count = (name: string): number => {
    const found = value[name];
    return typeof found === 'number' && Number.isSafeInteger(found) && found > 0 ? found : 0;
  };
  return { session: value['session'], iterations: count('iterations'), calls: count('calls'), tokens: count('tokens') };
}

export function errorOf(error: unknown): AgentError {
  if (error instanceof GatewayFailed) return error.error;
  if (error instanceof StateError && error.type === 'TimeoutError') {
    return { code: 'timeout', type: 'TimeoutError', message: `the gateway: ${error.message}`, retryable: true };
  }
  const { code, message } = error as NodeJS.ErrnoException;
  return broken(code ?? 'ConnectionError', message, code !== 'REFUSED');
}

export const withoutToken = (result: AgentResult, { token }: GatewaySettings): AgentResult =>
  new Secrets([token]).hideInError(result);
