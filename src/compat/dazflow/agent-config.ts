import {
  checkOptions,
  type LimitInput,
  type LimitUseInput,
  normalizeLimit,
  normalizePlacement,
  normalizeUses,
  type PlacementInput,
} from '../../app/library/manual.ts';
import { refuse } from '../refuse.ts';
import { eitherOf } from '../spellings.ts';

/** Which agents may run a node of a dazflow workflow. */
export interface AgentConfig {
  /** One of these agents; empty or absent: any. */
  readonly agents?: readonly string[] | null;
  /** All of these tags. */
  readonly requiredTags?: readonly string[] | null;
  /** Counts against the limit of this group. */
  readonly concurrencyGroup?: string | null;
}

/**
 * The part of a dazflow task that says which agents may run it. A node has `agentConfig`, an entry of the queue
 * `agent_config`.
 */
export interface AgentRules {
  readonly agentConfig?: AgentConfig | null;
  readonly agent_config?: AgentConfig | null;
  /** Only agents that hold it. */
  readonly required_credential?: string | null;
  readonly requiredCredential?: string | null;
}

/** In the form that `push` takes. */
export interface PushRules {
  readonly placement: PlacementInput;
  readonly limits: readonly LimitUseInput[];
}

const RULES: ReadonlySet<string> = new Set([
  'agentConfig',
  'agent_config',
  'required_credential',
  'requiredCredential',
] satisfies (keyof AgentRules)[]);
const CONFIG: ReadonlySet<string> = new Set([
  'agents',
  'requiredTags',
  'concurrencyGroup',
] satisfies (keyof AgentConfig)[]);
const GROUP: ReadonlySet<string> = new Set(['limit']);

/** The placement of a dazflow task, and the limit of its group. The limit must exist at the push. */
export function rulesFromAgentConfig(rules: AgentRules): PushRules {
  checkOptions('agent rules', rules, RULES);
  const config = eitherOf(['agentConfig', rules.agentConfig], ['agent_config', rules.agent_config]) ?? {};
  const credential = eitherOf(
    ['required_credential', rules.required_credential],
    ['requiredCredential', rules.requiredCredential],
  );
  checkOptions('agentConfig', config, CONFIG);
  const { agents, requiredTags, concurrencyGroup: group } = config;
  const tags = list('requiredTags', requiredTags).map(checkTag);
  const names = list('agents', agents);
  return {
    placement: normalizePlacement({
      ...(names.length === 0 ? {} : { only: names }),
      ...(tags.length === 0 ? {} : { requires: tags }),
      ...(credential === undefined ? {} : { credentials: [credential] }),
    }),
    limits: group === null || group === undefined ? [] : [nameOf(group)],
  };
}

/** The tags of a dazflow agent as tags of a worker; each credential that it holds is a tag. */
export function tagsFromAgent(agent: {
  readonly tags?: readonly string[] | null;
  readonly credentials?: readonly string[] | null;
}): readonly string[] {
  const tags = list('tags', agent.tags).map(checkTag);
  return [...tags, ...list('credentials', agent.credentials).map((name) => `credential:${name}`)];
}

/** `concurrency_groups.json` of dazflow as limits, for `setLimit`. */
export function limitsFromGroups(
  groups: Readonly<Record<string, { readonly limit: number }>>,
): Readonly<Record<string, LimitInput>> {
  if (typeof groups !== 'object' || groups === null || Array.isArray(groups)) {
    throw refuse('concurrency groups', 'they must be an object of names, each with a limit');
  }
  return Object.fromEntries(
    Object.entries(groups).map(([name, group]) => {
      checkOptions(`concurrency group ${name.slice(0, 40)}`, group, GROUP);
      if (group.limit === undefined) throw refuse(`concurrency group ${name.slice(0, 40)}`, 'it needs a limit');
      const limit = { concurrent: group.limit };
      normalizeLimit(limit);
      return [nameOf(name).name, limit];
    }),
  );
}

function nameOf(group: string): LimitUseInput {
  const [use] = normalizeUses([{ name: group }]);
  return { name: (use as LimitUseInput).name };
}

/** A tag is a plain word here. A comparison would ask for something that dazflow does not mean. */
function checkTag(tag: string): string {
  if (!/[<>!]/.test(tag)) return tag;
  throw refuse(
    'requiredTags',
    `${JSON.stringify(tag.slice(0, 80))} has one of <, > and ! in it; tests of values belong in placement.requires`,
  );
}

function list(field: string, given: readonly string[] | null | undefined): readonly string[] {
  if (given === null || given === undefined) return [];
  if (Array.isArray(given) && given.every((one) => typeof one === 'string' && one !== '')) return given;
  throw refuse(field, 'it must be a list of texts');
}
