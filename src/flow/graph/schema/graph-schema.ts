/** The JSON Schema of workflows, for editors. What it refuses, the reader reports as well; the reader says more, and with lines. */

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string): Schema => ({ type: 'string', description });
const texts = (description: string): Schema => ({ type: 'array', items: { type: 'string' }, description });
/** A list, or a map by id. */
const listOrMap = (name: string, description: string): Schema => ({
  anyOf: [
    { type: 'array', items: { $ref: `#/$defs/${name}` } },
    { type: 'object', additionalProperties: { $ref: `#/$defs/${name}` } },
  ],
  description,
});

const RULES: Readonly<Record<string, Schema>> = {
  agentConfig: { $ref: '#/$defs/agentConfig' },
  agent_config: { $ref: '#/$defs/agentConfig' },
  required_credential: { type: ['string', 'null'], description: 'Its worker must hold this credential.' },
  requiredCredential: { type: ['string', 'null'], description: 'Another spelling of required_credential.' },
};

const PINNED: Readonly<Record<string, Schema>> = {
  pinned: { type: ['boolean', 'null'], description: 'It does not run, and gives pinnedOutput.' },
  pinnedOutput: { description: 'An item, or a list of them.' },
};

const NODE: Schema = {
  type: 'object',
  description: 'One node: within the run, or a task of the handler that its type names.',
  properties: {
    id: { type: 'string', minLength: 1, maxLength: 200 },
    name: { type: 'string', minLength: 1, maxLength: 200, description: 'What its output is called in items.' },
    typeId: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'One of these, or the name of a handler.',
      examples: [
        'core/start',
        'core/scheduled',
        'core/hardwired',
        'core/set',
        'core/transform',
        'core/if',
        'core/http',
        'core/append_to_file',
        'system/run_command',
      ],
    },
    type: { type: 'string', minLength: 1, maxLength: 200, description: 'Another spelling of typeId.' },
    description: {},
    position: { type: 'object', description: 'Where an editor draws it.' },
    data: {
      type: 'object',
      description: 'What its type needs. Texts with {{ }} are expressions.',
      properties: { ...RULES, ...PINNED },
    },
    kind: { enum: ['map', 'array'], description: 'Once for each item, or once for all.' },
    ...RULES,
    ...PINNED,
    agents: texts('Workers by name: one of these.'),
    requiredTags: texts('Its worker has all of these tags.'),
    concurrencyGroup: { type: ['string', 'null'], description: 'The limit that it takes from.' },
    timeout: { type: ['string', 'number'], description: 'Of one attempt: 30s, or seconds.' },
    retry: {
      type: 'object',
      properties: {
        attempts: { type: 'integer', minimum: 1 },
        delay: { type: ['string', 'number'] },
        factor: { type: 'number' },
        maxDelay: { type: ['string', 'number'] },
        jitter: {},
      },
    },
    queue: text('Of its tasks; default: the queue of the run.'),
    priority: { type: 'integer' },
  },
};

export const graphSchema: Schema = Object.freeze({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Workflow',
  description: 'A workflow of nodes and connections.',
  type: 'object',
  required: ['nodes'],
  properties: {
    $schema: { type: 'string' },
    name: text('The title of its runs.'),
    description: {},
    enabled: { description: 'Of a new version that is stored: whether its triggers start runs.' },
    version: {},
    settings: {
      type: 'object',
      properties: { dataDirectory: { type: ['string', 'null'], description: 'Relative paths of files begin here.' } },
    },
    nodes: listOrMap('node', 'At most 10,000. In a map the keys are the ids.'),
    connections: listOrMap('connection', 'Over which items flow.'),
  },
  $defs: {
    node: NODE,
    connection: {
      type: 'object',
      required: ['sourceNodeId', 'targetNodeId'],
      properties: {
        id: {},
        sourceNodeId: text('The id of a node.'),
        targetNodeId: text('The id of a node.'),
        sourceConnectorId: {
          type: ['string', 'null'],
          description: '"false": the items that a node "if" rejects.',
        },
        targetConnectorId: {},
      },
    },
    agentConfig: {
      type: ['object', 'null'],
      description: 'Where its tasks may run.',
      properties: {
        agents: { type: ['array', 'null'], items: { type: 'string' } },
        requiredTags: { type: ['array', 'null'], items: { type: 'string' } },
        tags: { type: ['array', 'null'], items: { type: 'string' } },
        concurrencyGroup: { type: ['string', 'null'] },
      },
    },
  },
});
