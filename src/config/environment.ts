/** Only a variable sets it: a flag would show its value to every user of the host. */
export const SECRET_VARIABLE = 'LEASEHOLD_CLUSTER_SECRET';

/** What a pool gives to a worker that it starts. A worker that this one starts has others, or none. */
const TICKET_VARIABLE = 'LEASEHOLD_TICKET';
const POOL_VARIABLE = 'LEASEHOLD_POOL';

/** The environment that child processes inherit. Read at each call: a program may have changed it. Tasks need no secrets of nodes. */
export function environment(): Readonly<Record<string, string | undefined>> {
  const { [SECRET_VARIABLE]: _, [TICKET_VARIABLE]: _ticket, [POOL_VARIABLE]: _pool, ...rest } = process.env;
  // It leads to the secret of a node, and to the key of a vault.
  delete rest['CREDENTIALS_DIRECTORY'];
  for (const name of Object.keys(rest)) if (name.startsWith(HOOK_PREFIX)) delete rest[name];
  return rest;
}

/** Variables with the secrets of webhooks. */
const HOOK_PREFIX = 'LEASEHOLD_HOOK_';

/** The secrets of webhooks that this node has, by their variables. */
export function hookEnvironment(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith(HOOK_PREFIX)));
}

/** What the environment has for a node: the secret of its cluster, and the folder with the credentials of a systemd unit. */
export function nodeEnvironment(): { readonly given: string | undefined; readonly credentials: string | undefined } {
  const { [SECRET_VARIABLE]: given, CREDENTIALS_DIRECTORY: credentials } = process.env;
  // Shells and container files leave a variable out by setting it to nothing.
  return { given: given || undefined, credentials: credentials || undefined };
}

/** By these `secret-tool` finds the keyring of the user. */
const SESSION = ['PATH', 'HOME', 'USER', 'DISPLAY', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'];

/** What the environment has for the vault of a worker. */
export function vaultEnvironment(): {
  readonly credentials: string | undefined;
  readonly session: Readonly<Record<string, string | undefined>>;
} {
  const session = Object.fromEntries(SESSION.map((name) => [name, process.env[name]]));
  return { credentials: process.env['CREDENTIALS_DIRECTORY'] || undefined, session };
}

/** The keys of a bucket and its region, under the names by which its own tools know them. */
export function storageKeys(): {
  readonly region: string | undefined;
  readonly credentials: StorageCredentials | undefined;
} {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION } = process.env;
  const region = AWS_REGION || undefined;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) return { region, credentials: undefined };
  return {
    region,
    credentials: {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      sessionToken: AWS_SESSION_TOKEN || undefined,
    },
  };
}

export interface StorageCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}
