/** The JSON Schema of machines, for editors. What it refuses, the strict reader reports as well; the reader says more, and with lines. */
import { CHECKPOINTS } from '../shapes.ts';

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string): Schema => ({ type: 'string', description });
const ref = (name: string, description?: string): Schema =>
  description === undefined ? { $ref: `#/$defs/${name}` } : { $ref: `#/$defs/${name}`, description };
const templates = (description: string): Schema => ({ type: 'object', description, additionalProperties: true });
const oneOrMore = (items: Schema, description: string): Schema => ({
  anyOf: [items, { type: 'array', items }],
  description,
});
/** A number, or a template that gives one. */
const amount = (description: string): Schema => ({ type: ['number', 'string'], description });

/** A field that is null is not there. */
function fields(properties: Readonly<Record<string, Schema>>): Readonly<Record<string, Schema>> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, orNull(schema)]));
}

function orNull(schema: Schema): Schema {
  const { type, enum: words, anyOf, $ref, ...rest } = schema;
  if (Array.isArray(words)) return { enum: [...(words as readonly unknown[]), null], ...rest };
  if (Array.isArray(anyOf)) return { anyOf: [...(anyOf as readonly unknown[]), { type: 'null' }], ...rest };
  if ($ref !== undefined) return { anyOf: [{ $ref }, { type: 'null' }], ...rest };
  return type === undefined ? schema : { type: [...new Set([type, 'null'].flat())], ...rest };
}

const NAME: Schema = { type: ['string', 'number'] };

const FEW: Schema = { type: 'integer', minimum: 1, maximum: 100 };

const STATE: Schema = {
  type: ['object', 'null'],
  description: 'One state: what it does, and where it leads.',
  additionalProperties: false,
  properties: fields({
    type: { enum: ['initial', 'final', ''], description: 'Where a run begins, or where it may end.' },
    wait_for: text('The channel of a signal, a template. Nothing else of the state is done.'),
    action: { ...NAME, description: 'The name that the hook on_action is called with.' },
    launch: oneOrMore({ type: 'string' }, 'Machines that are started and not waited for.'),
    launch_input: templates('The input of the launched machines.'),
    machine: {
      description: 'A machine, or several at once, whose output is waited for.',
      anyOf: [
        { type: 'string' },
        ref('invoked'),
        { type: 'array', minItems: 1, items: { anyOf: [{ type: 'string' }, ref('invoked')] } },
      ],
    },
    foreach: { description: 'A template that gives a list: machine, launch, action or agent is done for each item.' },
    as: { ...NAME, default: 'item', description: 'The name of the item in templates.' },
    key: { description: 'A template for the key of each result; without it the results are a list.' },
    mode: {
      enum: ['settled', 'any'],
      default: 'settled',
      description: 'Wait for all, or for the first that completes.',
    },
    draw: {
      type: 'object',
      additionalProperties: false,
      properties: fields({
        tokens: { type: 'number', minimum: 0 },
        money: { type: 'number', minimum: 0 },
        calls: { type: 'number', minimum: 0 },
        ms: { type: 'number', minimum: 0 },
      }),
      description:
        'The most that a call of the agent may cost: reserved in the budget of a durable run. Money is in dollars.',
    },
    losers: { enum: ['cancel', 'keep'], default: 'cancel', description: 'What becomes of the others with mode any.' },
    on_child_error: {
      enum: ['collect', 'fail'],
      default: 'collect',
      description: 'With mode settled: the error of a child is its result, or fails the state.',
    },
    timeout: amount('Seconds that the state may take; 0: no bound.'),
    agent: { ...NAME, description: 'The agent that is called, by its name in agents.' },
    execution: ref('execution'),
    tool_loop: {
      description: 'Let the agent use tools, with these bounds.',
      anyOf: [{ type: 'boolean' }, { type: 'string' }, ref('tool_loop')],
    },
    sampling: { enum: ['single', 'multi'], description: 'A hint without an effect.' },
    session_id: { description: 'A template: calls of agents with the same one go on with one conversation.' },
    input: { description: 'The input of the machine or the agent: a map of templates.' },
    output_to_context: templates('What of the output goes into the context, in this order.'),
    output: { description: 'The output of a final state: a map of templates.' },
    on_error: {
      description: 'The state that follows an error: one for all, or by the type of the error.',
      anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: { type: ['string', 'null'] } }],
    },
    transitions: {
      type: 'array',
      description: 'The first whose condition holds is taken.',
      items: ref('transition'),
    },
    hooks: ref('hooks', 'Hooks of this state only.'),
    description: { description: 'For people.' },
  }),
};

const DEFS: Readonly<Record<string, Schema>> = {
  state: STATE,
  transition: {
    type: 'object',
    required: ['to'],
    additionalProperties: false,
    properties: {
      condition: {
        type: ['string', 'boolean', 'number', 'null'],
        description: 'In the language of expression_engine; absent, empty or true: always.',
      },
      to: { ...NAME, description: 'The state that follows.' },
      description: { description: 'For people.' },
    },
  },
  invoked: {
    type: 'object',
    required: ['name'],
    additionalProperties: false,
    properties: { name: NAME, input: { description: 'Over the input of the state.' } },
  },
  execution: {
    type: 'object',
    description: 'How the agent is called.',
    additionalProperties: false,
    properties: fields({
      type: { enum: ['default', 'retry', 'parallel', 'mdap_voting'], default: 'default' },
      backoffs: {
        type: 'array',
        items: { type: 'number', minimum: 0 },
        description: 'retry: seconds before each further try.',
        default: [2, 8, 16, 35],
      },
      jitter: {
        type: 'number',
        minimum: 0,
        maximum: 1,
        description: 'retry: the share by which a pause varies.',
        default: 0.1,
      },
      retry_on_empty: { type: 'boolean', description: 'retry: an empty answer is tried again.', default: false },
      n_samples: { ...FEW, description: 'parallel: calls at once.', default: 3 },
      k_margin: { ...FEW, description: 'mdap_voting: the lead that wins.', default: 3 },
      max_candidates: { ...FEW, description: 'mdap_voting: calls at most.', default: 10 },
      max_response_tokens: { type: 'number', minimum: 0, description: 'mdap_voting: longer answers do not count.' },
    }),
  },
  tool_loop: {
    type: 'object',
    description: 'Bounds of a tool loop; 0 is none. Before 4.0 there are some without these.',
    additionalProperties: false,
    properties: fields({
      max_tool_calls: amount('Calls of tools.'),
      max_turns: amount('Calls of the agent.'),
      tool_timeout: amount('Seconds for a call of a tool.'),
      total_timeout: amount('Seconds for all of it.'),
      max_cost: amount('What the agent may cost.'),
      allowed_tools: oneOrMore({ type: 'string' }, 'No others are called.'),
      denied_tools: oneOrMore({ type: 'string' }, 'These are not called, also if they are allowed.'),
      policies: {
        type: 'object',
        additionalProperties: true,
        description: 'What a call that was cut off becomes, by the name of its tool: repeat, exact or relaunch.',
      },
    }),
  },
  hooks: {
    anyOf: [{ type: 'null' }, ref('hook'), { type: 'array', items: ref('hooks') }],
  },
  hook: {
    anyOf: [
      { type: 'string' },
      {
        type: 'object',
        additionalProperties: false,
        properties: fields({
          name: { ...NAME, description: 'The name in the registry.' },
          file: { ...NAME, description: 'A file beside the machine (before 2.0).' },
          module: { ...NAME, description: 'A module (before 2.0).' },
          class: { ...NAME, description: 'The export of the file or module.' },
          args: { type: 'object', additionalProperties: true, description: 'What the hooks are made with.' },
        }),
      },
    ],
  },
};

const MAX_STEPS: Schema = { type: ['number', 'string'], minimum: 1, default: 1000 };
const MAX_DEPTH: Schema = { type: ['number', 'string'], minimum: 0, default: 32 };

const DATA: Schema = {
  type: 'object',
  required: ['states'],
  additionalProperties: false,
  properties: fields({
    name: {
      ...NAME,
      default: 'unnamed-machine',
      description: 'The name in logs, and for machines that call this one.',
    },
    description: { description: 'For people.' },
    expression_engine: { enum: ['simple', 'cel'], default: 'simple', description: 'The language of conditions.' },
    context: templates('What the context begins with; templates see the input only.'),
    agents: {
      type: 'object',
      description: 'Agents by their names: a file, a flatagent, or {type, ref, config}.',
      additionalProperties: true,
    },
    profiles: { description: 'A file of model profiles.' },
    max_steps: {
      ...MAX_STEPS,
      deprecated: true,
      description: 'Belongs into settings, and is read as if it were there.',
    },
    max_depth: {
      ...MAX_DEPTH,
      deprecated: true,
      description: 'Belongs into settings, and is read as if it were there.',
    },
    machines: {
      type: 'object',
      description: 'Machines by their names: a file, {path}, {inline}, or a machine.',
      additionalProperties: true,
    },
    states: { type: 'object', minProperties: 1, additionalProperties: ref('state') },
    settings: {
      type: 'object',
      additionalProperties: true,
      properties: fields({
        max_steps: { ...MAX_STEPS, description: 'States that a run may enter.' },
        max_depth: { ...MAX_DEPTH, description: 'Machines within machines.' },
        max_agent_calls: {
          type: ['number', 'string'],
          minimum: 0,
          description: 'Calls of agents that a run may make.',
        },
        max_parallel: {
          type: ['number', 'string'],
          minimum: 1,
          default: 8,
          description: 'Items of a list that an agent is asked for at once.',
        },
        expression_engine: { enum: ['simple', 'cel'], description: 'As beside settings, which goes first.' },
        template_mode: {
          enum: ['native', 'v0', 'early'],
          description:
            'native: a lone value keeps its type. early, before 1.1: what tojson gives is read back. v0: any text that is JSON is.',
        },
        children: {
          description:
            'In durable runs: "inline" runs machines within the attempt of this one, "tasks" as tasks of their own.',
        },
        heartbeat_interval: { description: 'Seconds between signs of life of a worker machine.' },
        worker_pool: { description: 'The pool of a worker machine.' },
        backends: { description: 'Where work and workers are kept.' },
        parallel_fallback: {
          enum: ['sequential', 'error'],
          default: 'sequential',
          description: 'What is done with calls that cannot be made side by side.',
        },
      }),
    },
    persistence: {
      type: 'object',
      additionalProperties: true,
      description: 'Where snapshots are kept.',
      properties: fields({
        enabled: { type: 'boolean', default: true },
        backend: text('local, memory or sqlite.'),
        checkpoint_on: {
          type: 'array',
          items: { enum: CHECKPOINTS },
          description: 'When they are written; default: all.',
        },
      }),
    },
    hooks: ref('hooks', 'Hooks of the machine (before 4.0).'),
    lifecycle_hooks: ref('hooks', 'Hooks of the machine (from 4.0).'),
  }),
};

/** The schema, by JSON Schema 2020-12. */
export const machineSchema: Schema = Object.freeze({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'flatmachine',
  description: 'A state machine that leasehold runs.',
  type: 'object',
  required: ['spec', 'spec_version', 'data'],
  additionalProperties: false,
  properties: {
    $schema: {},
    spec: { const: 'flatmachine' },
    spec_version: { type: ['string', 'number'], description: 'The version of the language: "4.2.1".' },
    data: DATA,
    metadata: { type: ['object', 'null'], additionalProperties: true, description: 'For people and tools.' },
  },
  $defs: DEFS,
});
