/** Machines of the browser tests, and the handler that runs them, with agents and actions that are functions here. */
import { realWorld } from '../../../src/app/world.ts';
import { AgentRegistry } from '../../../src/worker/agents/registry.ts';
import { machineTask } from '../../../src/worker/machine/durable/machine-task.ts';
import { HooksRegistry } from '../../../src/worker/machine/hooks-registry.ts';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const agents = new AgentRegistry()
  .agent('writer', async ({ topic, round }) => {
    await pause(400);
    return {
      output: { text: `Draft ${String(round)} about ${String(topic)}` },
      usage: { input_tokens: 900, output_tokens: 300 },
      cost: 0.012,
    };
  })
  .agent('reviewer', async ({ round }) => {
    await pause(250);
    return { output: { score: Number(round) * 3 }, usage: { input_tokens: 500, output_tokens: 20 }, cost: 0.004 };
  });

/** The task `machine`, as a worker with these agents has it. */
export const machine = machineTask({
  world: realWorld(),
  hooks: new HooksRegistry(),
  agents,
  environment: () => ({}),
  own: [
    {
      onAction: async (action: string, context: Readonly<Record<string, unknown>>) => {
        const { holdMs = 0, count = 0 } = context;
        if (action === 'count') return { count: Number(count) + 1 };
        await pause(Number(holdMs));
        return { [action]: true };
      },
    },
  ],
});

const document = (data: object): object => ({ spec: 'flatmachine', spec_version: '2.0.0', data });

/** A loop of an agent and its reviewer, five children, a decision, and an action at the end. */
export const ARTICLE = document({
  name: 'article',
  agents: { writer: { type: 'function' }, reviewer: { type: 'function' } },
  machines: {
    picture: document({
      name: 'picture',
      context: { holdMs: '{{ input.holdMs }}' },
      states: {
        sketch: { type: 'initial', action: 'sketch', transitions: [{ to: 'paint' }] },
        paint: { action: 'paint', transitions: [{ to: 'end' }] },
        end: { type: 'final', output: { file: '{{ input.name }}.png' } },
      },
    }),
  },
  context: { topic: '{{ input.topic }}', holdMs: '{{ input.holdMs }}', round: 0, score: 0 },
  states: {
    start: { type: 'initial', transitions: [{ to: 'draft' }] },
    draft: {
      agent: 'writer',
      input: { topic: '{{ context.topic }}', round: '{{ context.round + 1 }}' },
      output_to_context: { text: '{{ output.text }}', round: '{{ context.round + 1 }}' },
      on_error: 'failed',
      transitions: [{ to: 'review' }],
    },
    review: {
      agent: 'reviewer',
      input: { round: '{{ context.round }}' },
      output_to_context: { score: '{{ output.score }}' },
      on_error: 'failed',
      transitions: [{ to: 'illustrate', condition: 'context.score >= 8' }, { to: 'draft' }],
    },
    illustrate: {
      foreach: '{{ input.pictures }}',
      as: 'name',
      machine: 'picture',
      input: { name: '{{ name }}', holdMs: '{{ context.holdMs }}' },
      output_to_context: { pictures: '{{ output }}' },
      on_error: 'failed',
      transitions: [{ to: 'approve' }],
    },
    approve: {
      wait_for: 'approval/{{ input.topic }}',
      output_to_context: { by: '{{ output.by }}', ok: '{{ output.ok }}' },
      transitions: [{ to: 'publish', condition: 'context.ok == true' }, { to: 'draft' }],
    },
    publish: { action: 'publish', on_error: 'failed', transitions: [{ to: 'done' }] },
    done: { type: 'final', output: { text: '{{ context.text }}', by: '{{ context.by }}' } },
    failed: { type: 'final', output: { text: 'none' } },
  },
});

/** Counts until `input.most`, a step for each. */
export const COUNTING = document({
  name: 'counting',
  settings: { max_steps: 2_000 },
  context: { count: 0 },
  states: {
    up: {
      type: 'initial',
      action: 'count',
      transitions: [{ to: 'end', condition: 'context.count >= input.most' }, { to: 'up' }],
    },
    end: { type: 'final', output: { count: '{{ context.count }}' } },
  },
});
