import type { SecretSource } from '../../app/data/secret-source.ts';
import { nodeEnvironment } from '../../config/environment.ts';
import { sourceOf } from '../../config/load.ts';
import type { Config, OptionKey } from '../../config/options.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import type { Operator } from '../../operate/operator.ts';
import { artifactStoreOf } from './artifact-place.ts';

/** The options of every command that works on a store directly. */
export const STORE_OPTIONS = ['store', 'dataDir', 'json'] as const satisfies readonly OptionKey[];

/** The options of every command that uses a node where there is one. */
export const OPERATOR_OPTIONS = ['server', 'token', ...STORE_OPTIONS] as const satisfies readonly OptionKey[];

/** The options of a command that reads the bytes of artifacts. */
export const BYTES_OPTIONS = ['artifactStore', ...OPERATOR_OPTIONS] as const satisfies readonly OptionKey[];

export interface OperatorOptions {
  /** Whether a missing store is created. */
  readonly create?: boolean;
  /** It needs the secret of the cluster, on the store itself too. */
  readonly seals?: boolean;
}

/**
 * The node or the store for one command: the named node, or the named store, or the running node of the data directory, or the store
 * there. Loaded on demand: the help of a command needs neither, and a command on a store needs no client.
 */
export async function withOperator<T>(
  config: Config,
  work: (operator: Operator) => Promise<T>,
  options: OperatorOptions = {},
): Promise<T> {
  const node = await nodeFor(config);
  const operator = await (node === undefined ? directly(config, options) : through(node, config));
  try {
    return await work(operator);
  } finally {
    await operator.close();
  }
}

async function directly(config: Config, options: OperatorOptions): Promise<Operator> {
  const { store, dataDir, durability, staleThreshold: staleMs, nodeDeadThreshold: deadMs } = config;
  const [{ operate }, { ownFolder }] = await Promise.all([import('../../app/operate.ts'), import('./own-folder.ts')]);
  if (sourceOf(config, 'store') === 'default') ownFolder(config);
  if (options.create) {
    const { makeFolderOf } = await import('../../app/data/data-folder.ts');
    makeFolderOf(dataDir, store);
  }
  const secret = options.seals === true ? await secretOf(config) : undefined;
  const { create } = options;
  return operate({
    store,
    durability,
    silence: { staleMs, deadMs },
    secret,
    artifactStore: artifactStoreOf(config),
    ...(create === undefined ? {} : { create }),
  });
}

async function secretOf({ dataDir, clusterSecretFile: file }: Config): Promise<SecretSource> {
  const { secretSource } = await import('../../app/data/secret-source.ts');
  return secretSource({ dataDir, file, ...nodeEnvironment() });
}

interface Node {
  readonly url: string;
  readonly seen: boolean;
}

async function through({ url, seen }: Node, config: Config): Promise<Operator> {
  const { operateNode } = await import('../../app/operate-node.ts');
  return operateNode({
    url,
    token: await tokenFor(url, config),
    seen,
    onAway: (error) => void process.stderr.write(error === undefined ? BACK : AWAY),
  });
}

/** The node, for commands that a store alone cannot serve; refused when there is none. */
export async function withNode(config: Config): Promise<{ readonly url: string; readonly token: string | undefined }> {
  const node = await nodeFor(config);
  if (node !== undefined) return { url: node.url, token: await tokenFor(node.url, config) };
  const hint = 'Start one with "leasehold up", or name one: --server URL, with its token in LEASEHOLD_TOKEN.';
  throw fault('NOT_FOUND', { kind: 'node', id: `in ${config.dataDir}` }, { hint });
}

async function tokenFor(url: string, { token, dataDir }: Config): Promise<string | undefined> {
  return token ?? (url.split(',').every(isLocal) ? await tokenOf(dataDir) : undefined);
}

const AWAY = 'The node is away; this goes on when it is back. Ctrl-C stops the waiting.\n';
const BACK = 'The node is back.\n';

/** The node to use; undefined: none. */
async function nodeFor(config: Config): Promise<Node | undefined> {
  const { server, dataDir } = config;
  const [node, store] = [sourceOf(config, 'server'), sourceOf(config, 'store')];
  if (node === 'flag' && store === 'flag') {
    throw fault('INVALID_INPUT', {
      field: '--server',
      problem: 'a store is named as well, and only one of them can be asked',
    });
  }
  const named = server === undefined ? undefined : { url: server, seen: false };
  if (node === 'flag') return named;
  if (store === 'flag') return undefined;
  if (node === 'environment') return named;
  if (store === 'environment') return undefined;
  const { liveNode } = await import('../../app/node-file.ts');
  const url = await liveNode(dataDir, sourceOf(config, 'token') === 'default' ? 'own' : 'other');
  return url === undefined ? undefined : { url, seen: true };
}

/** The token of this directory is sent to nodes of this host only: a node elsewhere has another one. */
async function tokenOf(dataDir: string): Promise<string | undefined> {
  const { adminTokenFile, readToken } = await import('../../app/admin-token.ts');
  try {
    return readToken(adminTokenFile(dataDir));
  } catch (error) {
    if (isEngineError(error)) throw error;
    const { message } = error as Error;
    throw fault(
      'UNAUTHENTICATED',
      {},
      {
        hint: `The token of the node cannot be read (${message}): give one in LEASEHOLD_TOKEN.`,
        cause: error,
      },
    );
  }
}

function isLocal(url: string): boolean {
  const host = URL.canParse(url.trim()) ? new URL(url.trim()).hostname : '';
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.');
}
