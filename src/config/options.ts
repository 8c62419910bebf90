import { ARTIFACT_OPTIONS } from './options/artifacts.ts';
import { AUDIT_OPTIONS } from './options/audit.ts';
import { CLUSTER_OPTIONS } from './options/cluster.ts';
import { COMMAND_OPTIONS } from './options/command.ts';
import { CREDENTIAL_OPTIONS } from './options/credentials.ts';
import { EDIT_OPTIONS } from './options/edit.ts';
import { EXPRESSION_OPTIONS } from './options/expressions.ts';
import { GRANT_OPTIONS } from './options/grants.ts';
import { LEASE_OPTIONS } from './options/leases.ts';
import { MACHINE_OPTIONS } from './options/machines.ts';
import { NODE_OPTIONS } from './options/node.ts';
import type { Option, OptionTable } from './options/option.ts';
import { POOL_OPTIONS } from './options/pools.ts';
import { PUSH_OPTIONS } from './options/push.ts';
import { RELEASE_OPTIONS } from './options/releases.ts';
import { RUN_POOL_OPTIONS } from './options/run-pools.ts';
import { RUN_OPTIONS } from './options/runs.ts';
import { SCHEDULE_OPTIONS } from './options/schedules.ts';
import { WORKER_OPTIONS } from './options/worker.ts';
import { WORKSPACE_OPTIONS } from './options/workspaces.ts';

/**
 * Every setting, declared once. The parser, the help, the type `Config` and `docs/reference/config.md` follow this table;
 * the flag is the key in kebab-case.
 */
export const OPTIONS = Object.freeze({
  ...NODE_OPTIONS,
  ...LEASE_OPTIONS,
  ...ARTIFACT_OPTIONS,
  ...CLUSTER_OPTIONS,
  ...WORKER_OPTIONS,
  ...WORKSPACE_OPTIONS,
  ...POOL_OPTIONS,
  ...PUSH_OPTIONS,
  ...COMMAND_OPTIONS,
  ...EDIT_OPTIONS,
  ...GRANT_OPTIONS,
  ...CREDENTIAL_OPTIONS,
  ...EXPRESSION_OPTIONS,
  ...MACHINE_OPTIONS,
  ...SCHEDULE_OPTIONS,
  ...RUN_OPTIONS,
  ...RUN_POOL_OPTIONS,
  ...AUDIT_OPTIONS,
  ...RELEASE_OPTIONS,
} satisfies OptionTable);

export type OptionKey = keyof typeof OPTIONS;

/** The settings of one process, parsed and frozen. Durations are milliseconds. */
export type Config = {
  readonly [K in OptionKey]: ReturnType<(typeof OPTIONS)[K]['parse']> | ReturnType<(typeof OPTIONS)[K]['fallback']>;
};

export const OPTION_KEYS = Object.freeze(Object.keys(OPTIONS) as OptionKey[]);

/** The declaration of an option without the type of its value, for code that treats all options alike. */
export function optionOf(key: OptionKey): Option {
  return OPTIONS[key];
}

/** `leaseDuration` → `--lease-duration`. */
export function flagOf(key: OptionKey): string {
  return `--${optionOf(key).flag ?? key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The usage in the help: `--port PORT`, `-f, --follow`, `--no-worker`, `--[no-]rate-per-key`. */
export function usageOf(key: OptionKey): string {
  const { short, value, negatable, either } = optionOf(key);
  const flag = negatable ? negatedFlagOf(key) : flagOf(key).replace('--', either ? '--[no-]' : '--');
  return `${short === undefined ? '' : `-${short}, `}${flag}${value === undefined ? '' : ` ${value}`}`;
}

/** `worker` → `--no-worker`. */
export function negatedFlagOf(key: OptionKey): string {
  return flagOf(key).replace('--', '--no-');
}

/** The default in the help. */
export function fallbackOf(key: OptionKey): string {
  const { fallbackDoc, fallback } = optionOf(key);
  return fallbackDoc ?? String(fallback({ dataDir: 'DIR' }));
}
