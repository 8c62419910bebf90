/** Stored workflows for programs, on a store or on a node. */
import { isEngineError } from '../../core/errors.ts';
import { checkOptions } from '../../engine/check.ts';
import type { Caller } from '../../operate/operator.ts';
import type {
  AppliedWorkflowView,
  WorkflowCheckView,
  WorkflowDetailView,
  WorkflowVersionDetailView,
  WorkflowVersionView,
  WorkflowView,
} from '../../operate/views.ts';
import { defined, graphOf, type StartedRunView, type StartRun } from './runs.ts';

export interface ApplyWorkflow {
  /** Whether its triggers start runs. Default: what a new version says of itself, else as it was, and on when it is new. */
  readonly enabled?: boolean | undefined;
  /** The version that it was made from, 0 for none: another one is refused with `CONFLICT`. */
  readonly expected?: number | undefined;
  /** Only tell what would change. */
  readonly dryRun?: boolean | undefined;
  /** Who it is, for its history. A node knows that by the token. */
  readonly by?: string | undefined;
}

export type RunWorkflow = Pick<
  StartRun,
  'input' | 'upTo' | 'trigger' | 'name' | 'title' | 'queue' | 'priority' | 'maxAttempts' | 'labels' | 'budgets'
> & {
  /** Default: the newest. */
  readonly version?: number | undefined;
};

interface Page {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Workflows of nodes and connections that the store keeps, each with its versions. While one is on, its triggers start runs. */
export interface AppWorkflows {
  /**
   * Stores a workflow, as an object or by the path of its file, or a new version of the one of that name. One that says the same has no new
   * version, so that a program may apply it at each start.
   */
  apply(name: string, workflow: object | string, options?: ApplyWorkflow): Promise<AppliedWorkflowView>;
  /** Says all that is wrong with one, and stores nothing. */
  check(workflow: object | string): Promise<WorkflowCheckView>;
  /** By name, a page at a time. */
  list(options?: Page): Promise<{ readonly workflows: readonly WorkflowView[]; readonly cursor?: string | undefined }>;
  /** With its text. Undefined: there is no such workflow. */
  get(name: string): Promise<WorkflowDetailView | undefined>;
  /** The newest first, a page at a time. */
  versions(
    name: string,
    options?: Page,
  ): Promise<{ readonly versions: readonly WorkflowVersionView[]; readonly cursor?: string | undefined }>;
  /** One with its text. */
  version(name: string, version: number): Promise<WorkflowVersionDetailView>;
  /** The text of an old version as a new one. */
  restore(
    name: string,
    version: number,
    options?: Pick<ApplyWorkflow, 'expected' | 'by'>,
  ): Promise<AppliedWorkflowView>;
  enable(name: string): Promise<WorkflowView>;
  /** Its triggers start nothing more. Its runs go on. */
  disable(name: string): Promise<WorkflowView>;
  /** Starts a run, also of one that is off. `app.handle(run.id)` waits for the result. */
  run(name: string, options?: RunWorkflow): Promise<StartedRunView>;
  /** With its versions and its schedules. Its runs stay. */
  remove(name: string): Promise<WorkflowView>;
}

const APPLY: ReadonlySet<string> = new Set(['enabled', 'expected', 'dryRun', 'by'] satisfies (keyof ApplyWorkflow)[]);
const RESTORE: ReadonlySet<string> = new Set(['expected', 'by'] satisfies (keyof ApplyWorkflow)[]);
const PAGE: ReadonlySet<string> = new Set(['limit', 'cursor'] satisfies (keyof Page)[]);
const RUN: ReadonlySet<string> = new Set([
  'input',
  'upTo',
  'trigger',
  'name',
  'title',
  'queue',
  'priority',
  'maxAttempts',
  'labels',
  'budgets',
  'version',
] satisfies (keyof RunWorkflow)[]);

export class CalledWorkflows implements AppWorkflows {
  readonly #caller: () => Promise<Caller>;

  /** A program that stores no workflow need not load what answers it. */
  constructor(caller: () => Promise<Caller>) {
    this.#caller = caller;
  }

  async apply(name: string, workflow: object | string, options: ApplyWorkflow = {}): Promise<AppliedWorkflowView> {
    checkOptions('options', options, APPLY);
    const { by, ...rest } = options;
    const body = { name, workflow: await graphOf(workflow, 'workflow'), ...defined(rest) };
    return (await this.#caller()).call('applyWorkflow', { body, by });
  }

  async check(workflow: object | string): Promise<WorkflowCheckView> {
    const body = { workflow: typeof workflow === 'string' ? await valueIn(workflow) : workflow };
    return (await this.#caller()).call('checkWorkflow', { body });
  }

  async list(options: Page = {}): ReturnType<AppWorkflows['list']> {
    checkOptions('options', options, PAGE);
    return (await this.#caller()).call('listWorkflows', { query: defined(options) });
  }

  async get(name: string): Promise<WorkflowDetailView | undefined> {
    try {
      return await (await this.#caller()).call('getWorkflow', { params: { name } });
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async versions(name: string, options: Page = {}): ReturnType<AppWorkflows['versions']> {
    checkOptions('options', options, PAGE);
    return (await this.#caller()).call('listWorkflowVersions', { params: { name }, query: defined(options) });
  }

  async version(name: string, version: number): Promise<WorkflowVersionDetailView> {
    return (await this.#caller()).call('getWorkflowVersion', { params: { name, version } });
  }

  async restore(
    name: string,
    version: number,
    options: Pick<ApplyWorkflow, 'expected' | 'by'> = {},
  ): Promise<AppliedWorkflowView> {
    checkOptions('options', options, RESTORE);
    const { by, ...rest } = options;
    return (await this.#caller()).call('restoreWorkflow', { params: { name, version }, body: defined(rest), by });
  }

  async enable(name: string): Promise<WorkflowView> {
    return (await this.#caller()).call('enableWorkflow', { params: { name } });
  }

  async disable(name: string): Promise<WorkflowView> {
    return (await this.#caller()).call('disableWorkflow', { params: { name } });
  }

  async run(name: string, options: RunWorkflow = {}): Promise<StartedRunView> {
    checkOptions('options', options, RUN);
    const { budgets, ...rest } = options;
    const body = defined({ ...rest, ...(budgets === undefined ? {} : { budgets: [...budgets] }) });
    return (await this.#caller()).call('runWorkflow', { params: { name }, body });
  }

  async remove(name: string): Promise<WorkflowView> {
    return (await this.#caller()).call('removeWorkflow', { params: { name } });
  }
}

/** What is wrong with the workflow in it is for the one who answers to say. */
async function valueIn(file: string): Promise<unknown> {
  const { readGraphFile } = await import('../graphs/graph-file.ts');
  return (await readGraphFile(file)).value;
}
