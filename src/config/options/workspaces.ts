import { REPO_PROTOCOLS, SAFE_PROTOCOLS } from '../../core/workspace/repo-address.ts';
import { byteSize, commaList, duration, filled, repoHost, someOf } from '../parse.ts';
import type { OptionTable } from './option.ts';

/** What a worker allows to workspaces. Its roots are those of loops: `--loop-root`. */
export const WORKSPACE_OPTIONS = {
  workspaceFolder: {
    doc: 'Where the worker makes workspaces; workers of one host may share it',
    value: 'DIR',
    parse: filled,
    env: ['LEASEHOLD_WORKSPACE_FOLDER'],
    fallback: ({ dataDir }) => `${dataDir}/workspaces`,
  },
  orphans: {
    doc: 'Those that no attempt has: kept, or left by a worker that was killed',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  gitHosts: {
    doc: 'The only hosts that workspaces are fetched from: github.com, *.example.com, git.example.com:8443; may be repeated, a comma between two',
    flag: 'git-host',
    value: 'HOSTS',
    many: true,
    parse: commaList(repoHost),
    env: ['LEASEHOLD_GIT_HOSTS'],
    fallback: (): readonly string[] => [],
    fallbackDoc: 'any',
  },
  gitProtocols: {
    doc: 'How workspaces are fetched; http only from this host, unless --git-host names the others',
    flag: 'git-protocol',
    value: REPO_PROTOCOLS.join(','),
    parse: someOf(...REPO_PROTOCOLS),
    env: ['LEASEHOLD_GIT_PROTOCOLS'],
    fallback: () => SAFE_PROTOCOLS,
    fallbackDoc: SAFE_PROTOCOLS.join(','),
  },
  gitMaxFetch: {
    doc: 'What one fetch of a repository may bring, such as 2GiB',
    value: 'SIZE',
    parse: byteSize,
    env: ['LEASEHOLD_GIT_MAX_FETCH'],
    fallback: () => undefined,
    fallbackDoc: '2GiB',
  },
  gitMaxTree: {
    doc: 'What the files of one workspace of git may take when it is made, such as 4GiB',
    value: 'SIZE',
    parse: byteSize,
    env: ['LEASEHOLD_GIT_MAX_TREE'],
    fallback: () => undefined,
    fallbackDoc: '4GiB',
  },
  gitTimeout: {
    doc: 'How long one fetch or push of a workspace may take',
    value: 'TIME',
    parse: duration,
    env: ['LEASEHOLD_GIT_TIMEOUT'],
    fallback: () => undefined,
    fallbackDoc: '10m',
  },
} satisfies OptionTable;
