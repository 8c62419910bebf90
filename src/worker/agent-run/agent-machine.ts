import type { ValueMap } from '../../flow/expression/values.ts';
import { type AgentInput, gatewayOf, iterationsOf } from './agent-input.ts';

/** What the machine calls its agent and its states. */
export const AGENT = 'agent';
const CODING: ReadonlySet<string> = new Set(['command', 'claude-code', 'codex-cli', 'pi-agent', 'smolagents']);
const MODELS: ReadonlySet<string> = new Set(['llm', 'openai', 'http']);

/** A machine of one state that asks the agent, and of one in which it ends. What the input says is data: nothing of it is a template. */
export function agentMachine(given: AgentInput): ValueMap {
  const { draw, backoffs } = given;
  const { type } = gatewayOf(given.gateway as never);
  return {
    spec: 'flatmachine',
    spec_version: '4.2.1',
    data: {
      name: 'agent',
      agents: { [AGENT]: agentOf(given) },
      states: {
        run: {
          agent: AGENT,
          input: '{{ input }}',
          execution: { type: 'retry', ...(backoffs === undefined ? {} : { backoffs }) },
          ...(MODELS.has(type) ? { tool_loop: loopOf(given) } : {}),
          ...(draw === undefined ? {} : { draw }),
          output_to_context: { answer: '{{ output }}' },
          transitions: [{ to: 'done' }],
        },
        done: { type: 'final', output: { answer: '{{ context.answer }}' } },
      },
    },
  };
}

/** What it is asked with: the value of `input` in its templates. */
export function inputOf({ prompt, system, context, workspace, max_iterations: most }: AgentInput): ValueMap {
  return {
    prompt,
    ...(system === undefined ? {} : { system }),
    ...(context === undefined ? {} : { context }),
    ...(typeof workspace === 'string' ? { workspace } : {}),
    ...(most === undefined ? {} : { max_iterations: most }),
  };
}

function agentOf(given: AgentInput): ValueMap {
  const { output, system } = given;
  // One that is prepared is the folder of the program itself: its path is another at the next try, and a machine must stay the same.
  const workspace = typeof given.workspace === 'string' ? given.workspace : undefined;
  const { type, config } = gatewayOf(given.gateway as never);
  const { ref, ...settings } = config;
  const asked = {
    ...settings,
    ...(system === undefined ? {} : { system: '{{ input.system }}' }),
    ...(output === undefined ? {} : { output }),
  };
  if (type === 'function') return { type, ref };
  if (type === 'gateway' || type === 'a2a') {
    return {
      type,
      config: {
        ...(type === 'gateway' && workspace !== undefined ? { workspace_dir: workspace } : {}),
        ...(type === 'gateway' ? { max_iterations: iterationsOf(given) } : {}),
        ...asked,
      },
    };
  }
  if (MODELS.has(type)) return { type, config: { stream: true, user: '{{ input.prompt }}', ...asked } };
  const folder = CODING.has(type) && workspace !== undefined ? { working_dir: literal(workspace) } : {};
  return { type, ...(ref === undefined ? {} : { ref }), config: { ...asked, ...folder } };
}

/** Paths of agents are templates. */
const literal = (path: string): string => path.replaceAll('{', "{{ '{' }}");

function loopOf(given: AgentInput): ValueMap {
  const {
    allowed_tools: allowed,
    denied_tools: denied,
    policies,
    on_uncertain: uncertain = 'ask',
    tool_timeout: timeout,
  } = given;
  return {
    max_turns: iterationsOf(given),
    once: true,
    uncertain,
    ...(allowed === undefined ? {} : { allowed_tools: allowed }),
    ...(denied === undefined ? {} : { denied_tools: denied }),
    ...(policies === undefined ? {} : { policies }),
    ...(timeout === undefined ? {} : { tool_timeout: timeout }),
  };
}
