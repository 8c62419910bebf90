import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { DrivenAttempt, Given, TaskDefinition, TaskOptions } from '../define/definition.ts';
import type { OutcomeValue } from '../define/outcome.ts';
import type { InferOutput, StandardSchema } from '../define/schema.ts';
import { task } from '../define/task.ts';
import type { RunOutcome } from '../runner/runner.ts';
import { HOST_WORLD } from './host-world.ts';
import { workflowContext } from './workflow-calls.ts';
import type { WorkflowContext } from './workflow-context.ts';
import { type ReplacedSteps, WorkflowRun } from './workflow-run.ts';

export interface WorkflowOptions<S extends StandardSchema | undefined>
  extends Omit<TaskOptions<S, unknown>, 'run' | 'retry' | 'reuse'> {
  /** Runs stay on the version that they began with, and a worker may have several. Default: none. */
  readonly version?: string | number;
}

/** A workflow: a task whose function says, call by call, what must be remembered. */
export interface Workflow<Input = never, Result = unknown> extends TaskDefinition<Input, Result> {
  /** Without its version. */
  readonly workflow: string;
  readonly version: string | undefined;
}

/** Any workflow: `never` accepts every input type, as with parameters of functions. */
export type AnyWorkflow = Workflow<never, unknown>;

type Body<I, R> = (input: I, wf: WorkflowContext) => R | Promise<R>;
type Parsed<S> = S extends StandardSchema ? InferOutput<S> : unknown;

/** A run that kills its worker again and again comes to an end. A wait gives its try back. */
const TRIES = 25;
const VERSION = /^[A-Za-z0-9][A-Za-z0-9._-]{0,30}$/;
/** By a registered symbol, so that a workflow of another loaded copy of the package works. */
const BODY: unique symbol = Symbol.for('leasehold.workflow');

/**
 * Defines a workflow in code. Its steps, children and waits are recorded as they come out; after a crash or a wait the function runs again from its
 * beginning and finds them there.
 */
export function workflow<I = unknown, R = unknown>(
  name: string,
  body: Body<I, R>,
): Workflow<I, OutcomeValue<Awaited<R>>>;
export function workflow<S extends StandardSchema | undefined = undefined, R = unknown>(
  name: string,
  options: WorkflowOptions<S>,
  body: Body<Parsed<S>, R>,
): Workflow<Given<S>, OutcomeValue<Awaited<R>>>;
export function workflow(
  name: string,
  given: WorkflowOptions<undefined> | Body<never, unknown>,
  last?: Body<never, unknown>,
): Workflow<unknown, unknown> {
  const [options, body] = typeof given === 'function' ? [{}, given] : [given, last];
  if (typeof options !== 'object' || options === null) throw refuse(name, 'its options must be an object');
  if (typeof body !== 'function') throw refuse(name, 'it needs a function');
  const { version, maxAttempts = TRIES, ...rest } = options;
  const definition = task(name, {
    ...rest,
    maxAttempts,
    run: () => {
      throw fault('CONFLICT', { problem: 'a workflow needs a worker' });
    },
  });
  const text = version === undefined ? undefined : String(version);
  if (text !== undefined && !VERSION.test(text))
    throw refuse(name, 'its version is 1 to 31 letters, digits, ".", "_" and "-", beginning with a letter or a digit');
  const made = Object.freeze({
    ...definition,
    // The name is what workers claim by: one that does not have the version is offered nothing of it.
    name: text === undefined ? name : `${name}@${text}`,
    workflow: name,
    version: text,
    [BODY]: body,
    drive: (input: unknown, attempt: DrivenAttempt) => driveWorkflow(made, input, attempt, HOST_WORLD),
  });
  if (made.name.length > LONGEST_NAME)
    throw refuse(name, `with its version it is longer than ${LONGEST_NAME} characters`);
  return made as unknown as Workflow<unknown, unknown>;
}

const LONGEST_NAME = 63;

/** One attempt at a run of it, in a world of its own. */
export function driveWorkflow(
  definition: object,
  input: unknown,
  attempt: DrivenAttempt,
  world: World,
  replaced?: ReplacedSteps,
): Promise<RunOutcome> {
  const body = (definition as { readonly [BODY]?: Body<never, unknown> })[BODY];
  if (body === undefined) throw fault('INVALID_INPUT', { field: 'workflow', problem: 'it was not made by workflow()' });
  return new WorkflowRun(attempt, world, replaced).drive(async (run) => body(input as never, workflowContext(run)));
}

export function isWorkflow(definition: unknown): definition is AnyWorkflow {
  return typeof definition === 'object' && definition !== null && 'workflow' in definition && 'version' in definition;
}

function refuse(name: string, problem: string): Error {
  return fault('INVALID_INPUT', { field: `workflow ${String(name).slice(0, 80)}`, problem });
}
