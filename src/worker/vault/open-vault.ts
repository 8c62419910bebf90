import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FolderShelf } from './folder-shelf.ts';
import { systemKeyring } from './keyring.ts';
import { protectionOf, type VaultDemand } from './protection.ts';
import { MemoryShelf } from './shelf.ts';
import { Vault } from './vault.ts';

export interface VaultPlace {
  /** The vault of all workers of a host that share a data folder: each has a folder in it. Undefined: credentials are in memory only. */
  readonly folder?: string | undefined;
  readonly demand?: VaultDemand | undefined;
  /** The worker was enrolled just now: what it held, and whom it believed, belongs to its time before. */
  readonly fresh?: boolean | undefined;
  readonly environment: VaultEnvironment;
  /** Calendar time. */
  readonly now: () => number;
}

/** What the environment has for a vault. */
export interface VaultEnvironment {
  /** The folder with the credentials of a systemd unit. */
  readonly credentials: string | undefined;
  /** By which programs find the keyring of the user. */
  readonly session: Readonly<Record<string, string | undefined>>;
}

/** `because`: why it is protected no better. */
export async function openVault(worker: string, place: VaultPlace): Promise<{ vault: Vault; because?: string }> {
  const { folder: all, demand, fresh, environment, now } = place;
  if (all === undefined || demand === 'memory') return { vault: new Vault(worker, new MemoryShelf()) };
  const own = folderOf(worker);
  const folder = join(all, own);
  const keyFolder = join(`${all}-key`, own);
  if (fresh === true) for (const old of [folder, keyFolder]) await rm(old, { recursive: true, force: true });
  const keyring = systemKeyring(environment.session);
  const { credentials } = environment;
  const { level, key, because } = await protectionOf({ folder, keyFolder, worker, demand, credentials, keyring });
  const shelf = await FolderShelf.open({ folder, worker, level, key, now: now() });
  return { vault: new Vault(worker, shelf), ...(because === undefined ? {} : { because }) };
}

/** A safe name of a folder for any name of a worker. */
function folderOf(worker: string): string {
  return encodeURIComponent(worker).replaceAll('.', '%2E').replaceAll('*', '%2A');
}
