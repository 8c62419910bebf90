/** What every git of ours is told, whatever the repository says of itself. */
import { REPO_PROTOCOLS, type RepoProtocol } from '../../core/workspace/repo-address.ts';

/** Settings in a file are read before these, so these hold. */
const FIXED: Readonly<Record<string, string>> = {
  // Programs that a repository could name.
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.attributesFile': '/dev/null',
  'core.excludesFile': '/dev/null',
  'core.pager': 'cat',
  'core.editor': 'false',
  'core.gitProxy': '',
  'credential.helper': '',
  'commit.gpgSign': 'false',
  'tag.gpgSign': 'false',
  'log.showSignature': 'false',
  'merge.verifySignatures': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'filter.lfs.smudge': '',
  'filter.lfs.clean': '',
  'filter.lfs.process': '',
  'filter.lfs.required': 'false',
  'submodule.recurse': 'false',
  'fetch.recurseSubmodules': 'false',
  'push.recurseSubmodules': 'no',
  'push.gpgSign': 'false',
  'push.followTags': 'false',
  // What comes is checked before it counts. These three are old mistakes of honest programs.
  'transfer.fsckObjects': 'true',
  'fetch.fsckObjects': 'true',
  'receive.fsckObjects': 'true',
  'fetch.fsck.badTimezone': 'ignore',
  'fetch.fsck.missingSpaceBeforeDate': 'ignore',
  'fetch.fsck.zeroPaddedFilemode': 'ignore',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  // One pack for each fetch: the bound of a file is then the bound of the fetch.
  'fetch.unpackLimit': '1',
  'transfer.unpackLimit': '1',
  // A redirect would carry a secret to a host that nobody has allowed.
  'http.followRedirects': 'false',
  'http.lowSpeedLimit': '1',
  'http.lowSpeedTime': '60',
  // Files are what the commit says, on every worker.
  'core.autocrlf': 'false',
  'core.eol': 'lf',
  'core.safecrlf': 'false',
  'core.quotePath': 'false',
  'core.precomposeUnicode': 'true',
  'core.bigFileThreshold': '64m',
  'pack.threads': '2',
  'advice.detachedHead': 'false',
  'init.defaultBranch': 'main',
  'init.templateDir': '',
  // What git keeps of a worktree is compared with its whole path.
  'worktree.useRelativePaths': 'false',
};

/** `-c key=value` for each. `file`: this call reads a repository on the same disk. */
export function settingArguments(protocols: readonly RepoProtocol[], file: boolean): readonly string[] {
  const allowed = Object.fromEntries(
    REPO_PROTOCOLS.map((one) => [`protocol.${one}.allow`, protocols.includes(one) ? 'always' : 'never'] as const),
  );
  const all = { 'protocol.allow': 'never', ...allowed, 'protocol.file.allow': file ? 'always' : 'never', ...FIXED };
  return Object.entries(all).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
}

/** All that git sees of the outside. The environment of the worker is not passed on. */
export function cleanEnvironment(home: string, path: string): Readonly<Record<string, string>> {
  return {
    PATH: path,
    HOME: home,
    XDG_CONFIG_HOME: home,
    LC_ALL: 'C',
    TZ: 'UTC',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_EDITOR: 'false',
    GIT_PAGER: 'cat',
    GIT_MERGE_AUTOEDIT: 'no',
    // A key or a password is at hand only where a credential was named.
    GIT_SSH_COMMAND: 'false',
    GIT_SSH_VARIANT: 'ssh',
    SSH_ASKPASS: 'false',
    SSH_ASKPASS_REQUIRE: 'never',
  };
}

/** A name may be empty. */
const PROGRAM = /^(?:filter\..*\.(?:clean|smudge|process|required)|merge\..*\.driver)$/is;

/**
 * Programs that the settings of this repository name for its files, each set to none. By the environment, which takes names that `-c` does not.
 * A merge by a program that fails is a conflict; one that does nothing would silently take one side.
 */
export function neutralised(keys: readonly string[]): Readonly<Record<string, string>> {
  const found = [...new Set(keys)].filter((key) => PROGRAM.test(key));
  if (found.length === 0) return {};
  const entries = found.flatMap((key, at) => [
    [`GIT_CONFIG_KEY_${at}`, key] as const,
    [`GIT_CONFIG_VALUE_${at}`, /(?:driver|required)$/i.test(key) ? 'false' : ''] as const,
  ]);
  return Object.fromEntries([['GIT_CONFIG_COUNT', String(found.length)], ...entries]);
}

const USERINFO = /([a-z][a-z0-9+.-]*:\/\/)[^\s/'"@]*@/gi;
const QUERY = /([a-z][a-z0-9+.-]*:\/\/[^\s'"?#]*)[?#][^\s'"]*/gi;

/** What git has said, without what a URL could tell and without the secrets of the call. */
export function scrubbed(text: string, secrets: readonly string[]): string {
  let plain = text;
  for (const secret of secrets) {
    for (const line of [secret, encodeURIComponent(secret), ...secret.split('\n')])
      if (line.length > 3) plain = plain.replaceAll(line, '***');
  }
  return plain.replace(USERINFO, '$1').replace(QUERY, '$1');
}
