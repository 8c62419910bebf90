/** How a worker keeps what it was given. Kept by `memory` it is gone with the process. */
export const CREDENTIAL_LEVELS = ['systemd', 'keyring', 'file', 'memory'] as const;
export type CredentialLevel = (typeof CREDENTIAL_LEVELS)[number];

/** The least that may be demanded. `file` is reached by every worker that says how it keeps credentials. */
export const DEMANDED_LEVELS = ['file', 'keyring', 'systemd'] as const;
export type DemandedLevel = (typeof DEMANDED_LEVELS)[number];

/** `unknown`: of agents, which do not say it. */
export type KnownLevel = CredentialLevel | 'unknown';

/** What was never on a disk cannot be copied from one, so memory reaches every demand. */
const HEIGHT: Readonly<Record<KnownLevel, number>> = { unknown: 0, file: 1, keyring: 2, systemd: 3, memory: 3 };

/** Why a worker at this level is refused; undefined: it is not, or has not said its level yet. */
export function refusalOf(level: KnownLevel | undefined, demanded: DemandedLevel | undefined): string | undefined {
  if (level === undefined || demanded === undefined || HEIGHT[level] >= HEIGHT[demanded]) return undefined;
  const keeps = level === 'unknown' ? 'does not say how it keeps credentials' : `keeps credentials by ${level}`;
  return `the worker ${keeps}, and ${demanded} is demanded`;
}
