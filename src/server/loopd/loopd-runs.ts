import { fault } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { EngineSnapshot } from '../../operate/engine-snapshot.ts';
import type { LoopLook } from '../../operate/loops/loop-look.ts';
import * as loops from '../../operate/loops/loop-runs.ts';
import type { AnswerOf, BodyOf, QueryOf } from '../../protocol/routes.ts';
import { eventsOf, outputOf } from './loopd-streams.ts';
import { runOf, settingsOf, stepOf } from './loopd-views.ts';

export interface LoopdRunsOptions {
  readonly engine: Engine;
  /** The text of the machine `loop` that this node comes with. */
  readonly bundle: () => Promise<string>;
}

/** Fields of a request that belong to version control. */
const OF_WORKTREES = [
  'base_branch',
  'run_branch_prefix',
  'merge_target_branch',
  'worktree_path_template',
  'worktree_provider',
  'worktrunk_bin',
  'worktrunk_config_path',
  'worktrunk_copy_ignored',
] as const;
/** The program that loopd asks. */
const CLAUDE = { type: 'claude-code' };

/** Serves the runs of loopd. */
export class LoopdRuns {
  readonly #options: LoopdRunsOptions;

  constructor(options: LoopdRunsOptions) {
    this.#options = options;
  }

  async start(body: BodyOf<'startLoop'>, op: string | undefined): Promise<AnswerOf<'startLoop'>> {
    for (const field of OF_WORKTREES) if ((body[field] ?? null) !== null) throw noWorktree(field);
    const { workspace_root, spec_path, plan_path, prompt, agent = CLAUDE, review_agent } = body;
    const given = {
      workspace_root,
      agent,
      ...(review_agent === undefined ? {} : { review_agent }),
      ...(prompt === undefined ? {} : { prompt }),
      ...(spec_path === undefined ? {} : { spec_path }),
      ...((plan_path ?? null) === null ? {} : { plan_path }),
      config: settingsOf(body),
    };
    const title = body.name ?? slugOf(spec_path);
    const bundle = await this.#options.bundle();
    const run = await loops.startLoop(this.#snapshot, { bundle, input: given, title, op });
    return { run: runOf(await loops.lookUp(this.#snapshot, run.id)) };
  }

  async list({ workspace_root, status, limit }: QueryOf<'listLoops'>): Promise<AnswerOf<'listLoops'>> {
    return { runs: (await loops.listLoops(this.#snapshot, { workspace: workspace_root, status, limit })).map(runOf) };
  }

  async get(id: string): Promise<AnswerOf<'getLoop'>> {
    return { run: runOf(await this.#look(id)) };
  }

  async steps(id: string): Promise<AnswerOf<'listLoopSteps'>> {
    const look = await this.#look(id);
    return { steps: look.steps.map((step) => stepOf(look.run.id, step)) };
  }

  pause = (id: string): Promise<void> => loops.pauseLoop(this.#snapshot, id);
  resume = (id: string): Promise<void> => loops.resumeLoop(this.#snapshot, id);
  cancel = (id: string, by: string): Promise<void> => loops.cancelLoop(this.#snapshot, id, by);
  retry = (id: string): Promise<void> => loops.retryLoop(this.#snapshot, id);

  /** Of an unknown run it is refused, before a stream begins. */
  async events(id: string, from: { readonly after?: number | undefined; readonly last?: number | undefined }) {
    const { run } = await this.#look(id);
    return eventsOf(this.#options.engine, run.id, from);
  }

  async output(id: string, offset: number) {
    const run = await loops.findLoop(this.#snapshot, id);
    return outputOf(this.#options.engine, run, offset);
  }

  /** An answer sees one state of the store. */
  get #snapshot(): EngineSnapshot {
    return new EngineSnapshot(this.#options.engine);
  }

  #look(id: string): Promise<LoopLook> {
    return loops.lookUp(this.#snapshot, id);
  }
}

/** As loopd names a run by its specification. */
function slugOf(path: string | undefined): string {
  const file = path?.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]*$/, '') ?? '';
  const slug = file
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return slug === '' ? 'loop' : slug;
}

function noWorktree(field: string): Error {
  const problem = 'a loop works in a plain folder, and has no branches and worktrees';
  return fault('INVALID_INPUT', { field, problem });
}
