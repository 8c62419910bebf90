import { z } from 'zod';
import type { Route } from './route.ts';
import { ROUTES } from './routes.ts';
import { PlainProblem, Problem } from './shapes/problem.ts';

type Schema = Readonly<Record<string, unknown>>;
type Shapes = Record<string, Schema>;

/** The table of routes as an OpenAPI 3.1 document. */
export function openApi({ version, server }: { readonly version: string; readonly server: string }): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  const shapes: Shapes = {};
  for (const [name, route] of Object.entries(ROUTES)) {
    const path = (paths[route.path] ??= {});
    path[route.method.toLowerCase()] = operation(name, route, shapes);
  }
  const responses = { Problem: problemOf(Problem, shapes), PlainProblem: problemOf(PlainProblem, shapes) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Leasehold',
      version,
      description: 'A durable, lease-based engine that hands work to fleets of workers.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: server }],
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas: shapes,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      responses,
    },
  };
}

function problemOf(shape: z.ZodType, shapes: Shapes): Schema {
  return {
    description: 'What is wrong, and what to do about it',
    content: { 'application/json': { schema: schemaOf(shape, 'output', shapes) } },
  };
}

function operation(name: string, route: Route, shapes: Shapes): Schema {
  const { does, access, params, query, body, status = 200 } = route;
  const problem = route.plain === true ? 'PlainProblem' : 'Problem';
  const parameters = [
    ...parametersOf(params, 'path', shapes),
    ...parametersOf(query, 'query', shapes),
    ...(route.repeatable === true ? [IDEMPOTENCY_KEY] : []),
  ];
  return {
    operationId: name,
    summary: does,
    ...(access === 'open' ? { security: [] } : { 'x-role': access }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body, 'input', shapes) } } },
        }),
    ...(route.bytes === true
      ? { requestBody: { required: true, content: { [TEXT_TYPES.bytes]: { schema: {} } } } }
      : {}),
    responses: {
      [status]: { description: 'Fine', ...(status === 204 ? {} : { content: contentOf(route, shapes) }) },
      '4XX': { $ref: `#/components/responses/${problem}` },
      '5XX': { $ref: `#/components/responses/${problem}` },
    },
  };
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'A repeat under the same key gets the first answer',
  schema: { type: 'string', maxLength: 200 },
};

const TEXT_TYPES = {
  prometheus: 'text/plain',
  shell: 'text/x-shellscript',
  bytes: 'application/octet-stream',
} as const;

function contentOf({ answer, stream, text }: Route, shapes: Shapes): Schema {
  const schema = schemaOf(answer, 'output', shapes);
  if (text !== undefined) return { [TEXT_TYPES[text]]: { schema } };
  if (stream === 'events') return { 'text/event-stream': { schema } };
  const json = { 'application/json': { schema } };
  return stream === 'maybe' ? { ...json, 'text/event-stream': { schema: {} } } : json;
}

function parametersOf(shape: z.ZodObject | undefined, where: 'path' | 'query', shapes: Shapes): readonly Schema[] {
  if (shape === undefined) return [];
  const whole = schemaOf(shape, 'input', shapes) as {
    properties?: Record<string, Schema>;
    required?: readonly string[];
  };
  return Object.entries(whole.properties ?? {}).map(([name, { description, ...schema }]) => ({
    name,
    in: where,
    required: where === 'path' || (whole.required ?? []).includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

/** Puts shapes that have an id into `shapes`, and refers to them. */
function schemaOf(shape: z.ZodType, io: 'input' | 'output', shapes: Shapes): Schema {
  const whole = z.toJSONSchema(shape, { io, unrepresentable: 'any', target: 'draft-2020-12' });
  const {
    $schema: _,
    $defs = {},
    ...schema
  } = JSON.parse(JSON.stringify(whole).replaceAll('"#/$defs/', '"#/components/schemas/')) as {
    readonly $schema?: unknown;
    readonly $defs?: Shapes;
  } & Schema;
  for (const [name, { id: _id, ...definition }] of Object.entries($defs)) shapes[name] = definition;
  const { id, ...inner } = schema;
  if (typeof id !== 'string') return schema;
  shapes[id] = inner;
  return { $ref: `#/components/schemas/${id}` };
}
