import { fault } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { EngineSnapshot } from '../../operate/engine-snapshot.ts';
import type { LoopLook } from '../../operate/loops/loop-look.ts';
import * as review from '../../operate/loops/loop-review.ts';
import * as loops from '../../operate/loops/loop-runs.ts';
import type { AnswerOf, BodyOf, QueryOf } from '../../protocol/routes.ts';
import { eventsOf, outputOf } from './loopd-streams.ts';
import { gitFieldsOf, runOf, stepOf } from './loopd-views.ts';

export interface LoopdRunsOptions {
  readonly engine: Engine;
  /** The text of the machine `loop` that this node comes with. */
  readonly bundle: () => Promise<string>;
}

/** Runs that a list of worktrees looks at. */
const MOST_RUNS = 200;
/** The program that loopd asks. */
const CLAUDE = { type: 'claude-code' };

/** Serves the runs of loopd. */
export class LoopdRuns {
  readonly #options: LoopdRunsOptions;

  constructor(options: LoopdRunsOptions) {
    this.#options = options;
  }

  async start(body: BodyOf<'startLoop'>, op: string | undefined): Promise<AnswerOf<'startLoop'>> {
    const { workspace_root, spec_path, plan_path, prompt, agent = CLAUDE, review_agent } = body;
    const given = {
      ...((workspace_root ?? null) === null ? {} : { workspace_root }),
      agent,
      ...(review_agent === undefined ? {} : { review_agent }),
      ...(prompt === undefined ? {} : { prompt }),
      ...(spec_path === undefined ? {} : { spec_path }),
      ...((plan_path ?? null) === null ? {} : { plan_path }),
      ...((body.name ?? null) === null ? {} : { name: body.name }),
      ...gitFieldsOf(body),
      config: body.config_override ?? '',
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

  diff = async (id: string, signal: AbortSignal): Promise<AnswerOf<'diffLoop'>> =>
    (await review.diffLoop(this.#snapshot, id, { signal })) as AnswerOf<'diffLoop'>;
  merge = (id: string, head: string | undefined, signal: AbortSignal): Promise<string> =>
    review.mergeLoop(this.#snapshot, id, { signal, head });
  scrap = (id: string, signal: AbortSignal): Promise<void> => review.scrapLoop(this.#snapshot, id, { signal });
  removeWorktree = (id: string, signal: AbortSignal): Promise<void> =>
    review.removeWorktree(this.#snapshot, id, { signal });

  async createPr(id: string): Promise<never> {
    await loops.findLoop(this.#snapshot, id);
    const problem =
      'no service for pull requests is known here: merge the branch of the run, or push it and open one there';
    throw fault('INVALID_INPUT', { field: 'create-pr', problem });
  }

  /** Without a repository: what the newest runs have made, as far as it was not removed. */
  async worktrees(workspace: string | undefined, signal: AbortSignal): Promise<AnswerOf<'listWorktrees'>> {
    const looks = await loops.listLoops(this.#snapshot, { workspace, limit: MOST_RUNS });
    const known = looks.flatMap(({ run, worktree, cleanup, review: { status } }) =>
      // Those of clones are the folders of their workers.
      worktree === undefined || 'url' in worktree || cleanup?.status === 'cleaned' || status === 'scrapped'
        ? []
        : [{ path: worktree.path, branch: worktree.branch, commit: worktree.commit, run_id: run.id }],
    );
    const newest = new Map(known.toReversed().map((one) => [one.path, one]));
    if (workspace === undefined) return { worktrees: [...newest.values()].toReversed() };
    const found = (await review.worktreesOf(this.#snapshot, workspace, { signal })) as readonly Omit<
      (typeof known)[number],
      'run_id'
    >[];
    return { worktrees: found.map((one) => ({ ...one, run_id: newest.get(one.path)?.run_id ?? null })) };
  }

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
