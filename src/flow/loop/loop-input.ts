/** The input of a run of the machine `loop`. */
import { isMap, type Value, type ValueMap } from '../expression/values.ts';
import { readConfig } from './config.ts';
import type { LoopConfig } from './config-keys.ts';
import { GIT_FIELDS, WORKTRUNK } from './git/git-keys.ts';
import { planProblems } from './git/worktree-plan.ts';
import { readPathBelow, readWorkspaceName, spelled } from './workspace-name.ts';

export interface LoopInput {
  /** A root by its name, and a folder below it: `main/shop`. Of a repository that lives elsewhere its address, or the name under which the run is listed. */
  readonly workspace: string;
  /** A registered function by its name, or an agent as machines have it: `{type, ref, config}`. */
  readonly agent: string | ValueMap;
  readonly reviewAgent: string | ValueMap;
  /** What is to be done, where no file of the workspace says it. */
  readonly prompt: string | undefined;
  readonly specPath: string | undefined;
  /** A list with boxes to check: each iteration does one. */
  readonly planPath: string | undefined;
  readonly config: LoopConfig;
  /** Of which the branch of the run is named; undefined: the id of the run. */
  readonly name: string | undefined;
}

export interface ReadLoopInput {
  /** Undefined: it has problems. */
  readonly input: LoopInput | undefined;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const INPUT_FIELDS = [
  'workspace',
  'workspace_root',
  'agent',
  'review_agent',
  'prompt',
  'spec_path',
  'plan_path',
  'config',
  'name',
  ...GIT_FIELDS,
] as const;
const KNOWN: ReadonlySet<string> = new Set([...INPUT_FIELDS, ...WORKTRUNK]);
const MOST_PROMPT = 256 * 1024;

/** All problems are told at once. */
export function readLoopInput(given: Value): ReadLoopInput {
  if (!isMap(given)) return { input: undefined, problems: ['the input is a map'], warnings: [] };
  const read = new InputReader(given);
  const { config, problems, warnings } = readConfig(given['config'], read.settings());
  const { workspace_source: source, repo_url: url = '' } = config;
  const workspace = source === 'git' && !read.hasWorkspace ? url : read.workspace();
  const agent = read.agent('agent');
  const reviewAgent = read.agent('review_agent') ?? agent;
  const prompt = read.text('prompt', MOST_PROMPT);
  const [specPath, planPath] = [read.path('spec_path'), read.path('plan_path')];
  if (prompt === undefined && specPath === undefined)
    read.problems.push('prompt or spec_path: one of them says what is to be done');
  const name = read.text('name', 255);
  const all = [...read.problems, ...problems];
  if (all.length === 0 && workspace !== undefined) all.push(...planProblems(workspace, config));
  if (all.length > 0 || workspace === undefined || agent === undefined || reviewAgent === undefined)
    return { input: undefined, problems: all, warnings };
  return { input: { workspace, agent, reviewAgent, prompt, specPath, planPath, config, name }, problems: [], warnings };
}

class InputReader {
  readonly problems: string[] = [];
  readonly #given: ValueMap;

  constructor(given: ValueMap) {
    this.#given = given;
    for (const key of Object.keys(given))
      if (!KNOWN.has(key))
        this.problems.push(`${key.slice(0, 60)}: there is no such field; there are ${INPUT_FIELDS.join(', ')}`);
  }

  get hasWorkspace(): boolean {
    return (this.#given['workspace'] ?? this.#given['workspace_root'] ?? null) !== null;
  }

  /** Two spellings; the second is that of loopd. */
  workspace(): string | undefined {
    const { workspace, workspace_root: root } = this.#given;
    const given = workspace ?? root;
    if (workspace !== undefined && root !== undefined)
      this.problems.push('workspace and workspace_root: give one of them');
    if (typeof given !== 'string') {
      this.problems.push('workspace: the name of a workspace is expected, such as "main/project"');
      return undefined;
    }
    const name = readWorkspaceName(given);
    if (typeof name !== 'string') return spelled(name);
    this.problems.push(`workspace: ${name}`);
    return undefined;
  }

  agent(field: 'agent' | 'review_agent'): string | ValueMap | undefined {
    const given = this.#given[field];
    if (typeof given === 'string' && given !== '') return given;
    if (isMap(given)) {
      const { config } = given;
      if (!isMap(config) || (config['working_dir'] === undefined && config['cwd'] === undefined)) return given;
      this.problems.push(
        `${field}: it works in the folder of the workspace: take working_dir and cwd out of its config`,
      );
      return undefined;
    }
    if (given !== undefined || field === 'agent')
      this.problems.push(`${field}: a name, or an agent as {type, ref, config}, is expected`);
    return undefined;
  }

  text(field: 'prompt' | 'spec_path' | 'plan_path' | 'name', most: number): string | undefined {
    const given = this.#given[field];
    if (given === undefined || given === null) return undefined;
    if (typeof given === 'string' && given.trim() !== '' && given.length <= most) return given;
    this.problems.push(`${field}: a text of at most ${most} characters is expected`);
    return undefined;
  }

  /** Settings of git may stand beside the config. */
  settings(): ValueMap {
    const said = [...GIT_FIELDS, ...WORKTRUNK].filter((key) => (this.#given[key] ?? undefined) !== undefined);
    return Object.fromEntries(said.map((key) => [key, this.#given[key]]));
  }

  path(field: 'spec_path' | 'plan_path'): string | undefined {
    const given = this.text(field, 500);
    if (given === undefined || readPathBelow(given) !== undefined) return given;
    this.problems.push(`${field}: a path below the workspace is expected`);
    return undefined;
  }
}
