/**
 * The files of a run: what its phases said, its prompts, a report and a summary. They are written beside the run, and nothing of that ends it: what
 * cannot be written is told in the log.
 */
import { isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { logFile, PROMPT, REPORT, rewriteFile, SUMMARY, slugOf, tailFile } from '../../flow/loop/files/file-names.ts';
import { PhaseLog } from '../../flow/loop/files/phase-log.ts';
import { type PlanTasks, planTasks } from '../../flow/loop/files/plan-tasks.ts';
import { MOST_REPORT, type ReportRow, withRow } from '../../flow/loop/files/report.ts';
import { summaryOf } from '../../flow/loop/files/summary.ts';
import { worktreeIn } from '../../flow/loop/git/worktree-state.ts';
import { type LoopInput, readLoopInput } from '../../flow/loop/loop-input.ts';
import { loopStateIn } from '../../flow/loop/loop-state.ts';
import { iterationsOf, type LoopPhase } from '../../flow/loop/records.ts';
import { fileBelow, workspaceFolder } from '../../workspace/shared-folder.ts';
import type { HookContext, HookedRun, RunFiles } from '../machine/machine-hooks.ts';
import { hookedLoops, logLine, overheard } from './hooked-loop.ts';
import type { LoopHost } from './loop-host.ts';
import { RunArtifacts } from './run-artifacts.ts';
import { RunFolder } from './run-folder.ts';
import { placeBelow } from './worktree-place.ts';

/** Where a phase stands that is about to begin. */
export interface Filing {
  readonly host: LoopHost;
  readonly context: HookContext;
  /** What an agent is asked, with all of its words. */
  readonly prompt?: string | undefined;
}

/** Runs a phase and writes its files. Answers what it gave, with the places of its files. */
export async function withFiles(
  phase: LoopPhase,
  filing: Filing,
  act: () => Promise<ValueMap> | ValueMap,
): Promise<ValueMap> {
  const files = filesOf(filing);
  if (files === undefined) return act();
  const said = new PhaseLog();
  const began = files.now();
  const given = await overheard((text) => said.add(files.hide(text)), act);
  const places = await files.phase(phase, filing, { given, said, began });
  return { ...given, ...places };
}

/** After a decision: a run that ends with it has a summary. */
export async function summarized(filing: Filing, decided: ValueMap): Promise<ValueMap> {
  const { next } = decided;
  if (next === 'completed' || next === 'failed')
    await filesOf(filing)?.end({ ...filing, context: { ...filing.context, ...decided } });
  return decided;
}

/** Of each attempt at a run. */
const known = new WeakMap<HookedRun, LoopFiles>();

/** Undefined: the run has no place for files. */
function filesOf({ host, context }: Filing): LoopFiles | undefined {
  const run = hookedLoops.getStore();
  const { input } = readLoopInput(context['given'] as Value);
  if (run?.files === undefined || input === undefined) return undefined;
  const found = known.get(run);
  if (found !== undefined) return found;
  const files = new LoopFiles(run, run.files, input, host);
  known.set(run, files);
  return files;
}

interface PhaseSaid {
  readonly given: ValueMap;
  readonly said: PhaseLog;
  readonly began: number;
}

class LoopFiles {
  readonly now: () => number;
  readonly hide: (text: string) => string;
  readonly #run: HookedRun;
  readonly #input: LoopInput;
  readonly #host: LoopHost;
  readonly #artifacts: RunArtifacts | undefined;
  #folder: Promise<RunFolder> | undefined;
  #report: string | undefined;
  /** What was told of already. */
  readonly #problems = new Set<string>();

  constructor(run: HookedRun, files: RunFiles, input: LoopInput, host: LoopHost) {
    this.#run = run;
    this.now = () => files.now();
    this.hide = (text) => files.hide(text);
    this.#input = input;
    this.#host = host;
    const mode = input.config.artifact_mode;
    if (mode !== 'workspace' && files.artifacts !== undefined)
      this.#artifacts = new RunArtifacts(files.artifacts, host.timers);
  }

  async phase(phase: LoopPhase, { context, prompt }: Filing, { given, said, began }: PhaseSaid): Promise<ValueMap> {
    if (this.#run.stop.aborted) return {};
    this.#artifacts?.tryAgain();
    const state = loopStateIn(context as ValueMap);
    const iteration = iterationsOf(state.records) + (phase === 'implementation' ? 1 : 0);
    const output = typeof given['output'] === 'string' ? given['output'] : '';
    // A function says nothing before its answer. What actions give was logged before, if they log anything.
    const isAgent = phase === 'implementation' || phase === 'review';
    const isTold = isAgent ? said.endsWith(this.hide(output)) : said.lines > 0;
    if (output.trim() !== '' && !isTold) said.add(this.hide(output));
    const path = await this.#write(logFile(iteration, phase), said.text());
    if (phase === 'implementation') await this.#write(tailFile(iteration), said.tail());
    const asked =
      phase === 'implementation' && prompt !== undefined ? await this.#prompt(prompt, context, iteration) : undefined;
    await this.#row({
      timestamp_ms: this.now(),
      kind: slugOf(phase),
      iteration,
      duration_ms: Math.max(0, this.now() - began),
      exit_code: typeof given['exit_code'] === 'number' ? given['exit_code'] : undefined,
      output_bytes: said.bytes,
      output_lines: said.lines,
      output_path: path,
      message: typeof given['message'] === 'string' ? given['message'] : undefined,
      ...(await this.#tasks(context)),
    });
    return {
      ...(path === undefined ? {} : { output_path: path }),
      ...(asked === undefined ? {} : { prompt_path: asked }),
    };
  }

  /** The first one, and the first after each time that it was rewritten. */
  async #prompt(prompt: string, context: HookContext, iteration: number): Promise<string | undefined> {
    const { records, rewrites } = loopStateIn(context as ValueMap);
    const isRewritten = rewrites > 0 && records.at(-1)?.phase === 'watchdog';
    if (iteration !== 1 && !isRewritten) return undefined;
    return this.#write(isRewritten ? rewriteFile(rewrites) : PROMPT, this.hide(prompt));
  }

  async end({ context }: Filing): Promise<void> {
    if (this.#run.stop.aborted) return;
    this.#artifacts?.tryAgain();
    const state = loopStateIn(context as ValueMap);
    const tree = worktreeIn(context['worktree'] as Value);
    const { merged } = context;
    const tasks = await this.#tasks(context);
    const at = this.now();
    let path: string | undefined;
    if (this.#input.config.summary_json) {
      const summary = summaryOf({
        executionId: this.#run.executionId,
        name: this.#input.name,
        workspace: this.#input.workspace,
        state,
        at,
        branch: tree?.branch,
        base: tree?.base,
        commit: tree?.commit,
        merged: typeof merged === 'string' ? merged : undefined,
        tasks: tasks && { done: tasks.tasks_done, total: tasks.tasks_total },
      });
      path = await this.#write(SUMMARY, `${this.hide(JSON.stringify(summary, null, 2))}\n`);
    }
    await this.#row({
      timestamp_ms: at,
      kind: 'run',
      iteration: iterationsOf(state.records),
      duration_ms: undefined,
      exit_code: undefined,
      output_bytes: undefined,
      output_lines: undefined,
      output_path: path,
      message: state.failure ?? 'completed',
      ...tasks,
    });
  }

  /** Answers where somebody finds it: in the workspace, else at a node. */
  async #write(file: string, text: string): Promise<string | undefined> {
    let place: string | undefined;
    if (this.#artifacts !== undefined) place = await this.#tried(this.#artifacts.write(file, text, typeOf(file)));
    if (this.#input.config.artifact_mode === 'global') return place;
    const below = this.#inFolder(async (folder) => {
      await folder.write(file, text);
      return folder.pathOf(file);
    });
    return (await this.#tried(below)) ?? place;
  }

  async #row(row: Omit<ReportRow, 'tasks_done' | 'tasks_total'> & Partial<ReportRow>): Promise<void> {
    this.#report ??= await this.#reportBefore();
    const message = row.message === undefined ? undefined : this.hide(row.message);
    this.#report = withRow(this.#report, { tasks_done: undefined, tasks_total: undefined, ...row, message });
    await this.#write(REPORT, this.#report);
  }

  /** Of earlier attempts at the run. */
  async #reportBefore(): Promise<string> {
    const most = 4 * MOST_REPORT;
    const below =
      this.#input.config.artifact_mode === 'global'
        ? undefined
        : await this.#tried(this.#inFolder((folder) => folder.read(REPORT, most)));
    return below ?? (this.#artifacts && (await this.#tried(this.#artifacts.read(REPORT, most)))) ?? '';
  }

  /** It is made anew after a failure: somebody may have removed it. */
  async #inFolder<T>(act: (folder: RunFolder) => Promise<T>): Promise<T> {
    this.#folder ??= this.#open();
    try {
      return await act(await this.#folder);
    } catch (error) {
      this.#folder = undefined;
      throw error;
    }
  }

  async #open(): Promise<RunFolder> {
    const { workspace, config } = this.#input;
    if (config.workspace_source === 'git') throw new Error('the workspace is a clone, and has no folder that stays');
    return RunFolder.open(this.#host, workspace, this.#run.executionId);
  }

  /** Boxes of the plan, where it is a file that this worker has. */
  async #tasks({ worktree }: HookContext): Promise<{ tasks_done: number; tasks_total: number } | undefined> {
    const { planPath, workspace } = this.#input;
    if (planPath === undefined) return undefined;
    try {
      const tree = worktreeIn(worktree as Value);
      // Of a clone nobody but the phase itself knows where it lies.
      if (tree !== undefined && !('path' in tree)) return undefined;
      const folder = await (tree === undefined
        ? workspaceFolder(this.#host, workspace, false)
        : placeBelow(this.#host, tree.path));
      const plan = await fileBelow(folder, planPath);
      const found: PlanTasks | undefined = plan === undefined ? undefined : planTasks(plan);
      return found && { tasks_done: found.done, tasks_total: found.total };
    } catch {
      // The report has no number then. Whoever needs the plan says what is wrong with it.
      return undefined;
    }
  }

  /** Each problem is told once: it may be met with every phase. */
  async #tried<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (this.#problems.size < 20 && !this.#problems.has(problem) && !this.#run.stop.aborted) {
        this.#problems.add(problem);
        logLine(`a file of the run could not be written: ${problem}`);
      }
      return undefined;
    }
  }
}

const typeOf = (file: string): string => {
  if (file.endsWith('.json')) return 'application/json';
  return file.endsWith('.tsv') ? 'text/tab-separated-values; charset=utf-8' : 'text/plain; charset=utf-8';
};

/** The entry `last` of what an action gives is what its phase has left. */
export async function withActionFiles(
  phase: LoopPhase,
  filing: Filing,
  act: () => Promise<ValueMap> | ValueMap,
): Promise<ValueMap> {
  let all: ValueMap = {};
  const last = await withFiles(phase, filing, async () => {
    all = await act();
    return isMap(all['last']) ? all['last'] : {};
  });
  return { ...all, last };
}
