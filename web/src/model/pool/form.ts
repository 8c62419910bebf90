/** A pool as a form has it, and as the node takes it. */

import { commaList } from '../text.ts';
import { durationText, isDuration } from '../time.ts';

const COUNTS = ['min', 'max', 'tasksPerWorker', 'scaleUpThreshold', 'burst'] as const;
const TIMES = ['targetWaitMs', 'idleMs', 'cooldownUpMs', 'cooldownDownMs', 'startMs'] as const;
export type PolicyField = (typeof COUNTS)[number] | (typeof TIMES)[number];
export type PolicyDraft = Readonly<Record<PolicyField, string>>;

type Policy = Readonly<Partial<Record<PolicyField, number | undefined>>>;
type Problems = Readonly<Record<string, string>>;

/** Those of a pool of which nothing is said. */
export const DEFAULTS: PolicyDraft = {
  min: '0',
  max: '10',
  tasksPerWorker: '1',
  scaleUpThreshold: '1',
  burst: '100',
  targetWaitMs: '',
  idleMs: '1m',
  cooldownUpMs: '0s',
  cooldownDownMs: '0s',
  startMs: '1m',
};

export function policyDraft(policy: Policy): PolicyDraft {
  const text = (field: PolicyField): string => {
    const value = policy[field];
    if (value === undefined) return '';
    return (TIMES as readonly string[]).includes(field) ? durationText(value) : String(value);
  };
  return Object.fromEntries([...COUNTS, ...TIMES].map((field) => [field, text(field)])) as PolicyDraft;
}

/** The policy that is written, or what is wrong with it. An empty field has its default. */
export function policyIn(draft: PolicyDraft): {
  readonly policy: Readonly<Partial<Record<PolicyField, number | string>>>;
  readonly problems: Problems;
} {
  const policy: Partial<Record<PolicyField, number | string>> = {};
  const problems: Record<string, string> = {};
  for (const field of COUNTS) {
    const text = draft[field].trim();
    if (text === '') continue;
    if (/^\d{1,7}$/.test(text)) policy[field] = Number(text);
    else problems[field] = 'is a whole number';
  }
  for (const field of TIMES) {
    const text = draft[field].trim();
    if (text === '') continue;
    if (isDuration(text)) policy[field] = text;
    else problems[field] = 'is written like 30s, 5m or 1h30m';
  }
  if (Number(policy.min ?? 0) > Number(policy.max ?? DEFAULTS.max)) problems.min = 'is more than the most';
  return { policy, problems };
}

export const LAUNCHERS = {
  subprocess: 'a process of the host that checks',
  'in-process': 'within the process that checks',
  command: 'by a program',
  ssh: 'on another host, by ssh',
  webhook: 'by a signed request',
  kubernetes: 'as a Job of Kubernetes',
} as const;

/** Settings to begin with, as the page of launchers has them. */
export const EXAMPLES: Readonly<Record<string, object>> = {
  subprocess: {},
  'in-process': {},
  command: { argv: ['{leasehold}', '{args}'], same_host: true },
  ssh: { host: 'gpu-1.internal', user: 'work', env: { LEASEHOLD_JOIN: 'http://node.internal:7420' } },
  webhook: { url: 'https://launcher.internal/launch', sign: 'LAUNCH_KEY' },
  kubernetes: { image: 'registry.example/leasehold:latest', env_secrets: ['leasehold-store'] },
};

export interface PoolDraft {
  readonly name: string;
  readonly queues: string;
  readonly life: 'once' | 'stay';
  readonly slots: string;
  readonly tags: string;
  readonly launcher: string;
  /** The settings of the launcher as JSON, without its kind. */
  readonly settings: string;
  readonly policy: PolicyDraft;
}

export interface PoolLike {
  readonly name: string;
  readonly queues: readonly string[];
  readonly worker: { readonly life: 'once' | 'stay'; readonly slots: number; readonly tags: readonly string[] };
  readonly launcher: { readonly kind: string; readonly [setting: string]: unknown };
  readonly policy: Policy;
}

export const settingsText = (settings: object): string =>
  Object.keys(settings).length === 0 ? '' : JSON.stringify(settings, undefined, 2);

export function poolDraft(pool: PoolLike | undefined): PoolDraft {
  if (pool === undefined) {
    return {
      name: '',
      queues: '',
      life: 'once',
      slots: '1',
      tags: '',
      launcher: 'subprocess',
      settings: '',
      policy: DEFAULTS,
    };
  }
  const { name, queues, worker, policy } = pool;
  const { kind, ...settings } = pool.launcher;
  return {
    name,
    queues: queues.join(', '),
    life: worker.life,
    slots: String(worker.slots),
    tags: worker.tags.join(', '),
    launcher: kind,
    settings: settingsText(settings),
    policy: policyDraft(policy),
  };
}

/** What the node is given, or what is wrong, by field. */
export function poolIn(draft: PoolDraft): { readonly body: PoolBody; readonly problems: Problems } {
  const { policy, problems: found } = policyIn(draft.policy);
  const problems: Record<string, string> = { ...found };
  const name = draft.name.trim();
  const queues = commaList(draft.queues);
  if (name === '') problems.name = 'is required';
  if (!/^\d{1,4}$/.test(draft.slots.trim())) problems.slots = 'is a whole number';
  const settings = settingsIn(draft.settings);
  if (settings === undefined) problems.settings = 'is a JSON object, such as {"argv": ["start"]}';
  return {
    body: {
      name,
      ...(queues.length === 0 ? {} : { queues }),
      policy,
      worker: {
        life: draft.life,
        // A worker that takes one task has one slot.
        slots: draft.life === 'once' ? 1 : Number(draft.slots.trim()),
        tags: commaList(draft.tags),
      },
      launcher: { ...settings, kind: draft.launcher },
    },
    problems,
  };
}

export interface PoolBody {
  readonly name: string;
  readonly queues?: readonly string[];
  readonly policy: Readonly<Partial<Record<PolicyField, number | string>>>;
  readonly worker: { readonly life: 'once' | 'stay'; readonly slots: number; readonly tags: readonly string[] };
  readonly launcher: { readonly kind: string; readonly [setting: string]: unknown };
}

function settingsIn(text: string): object | undefined {
  if (text.trim() === '') return {};
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The field of the form to which an error of the node belongs; undefined: to none. */
export function fieldOfPoolProblem(field: unknown): string | undefined {
  if (typeof field !== 'string') return undefined;
  if (field === 'pool name') return 'name';
  const [first = '', second = ''] = field.split(/[.[]/);
  if (first === 'policy' && [...COUNTS, ...TIMES].includes(second as PolicyField)) return second;
  if (first === 'worker' && ['life', 'slots', 'tags'].includes(second)) return second;
  if (first.startsWith('launcher')) return 'settings';
  return first.startsWith('queue') ? 'queues' : first === 'name' ? 'name' : undefined;
}
