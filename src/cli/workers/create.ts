import { loadCall } from '../../config/load.ts';
import { joinOf } from '../../operate/calls/join.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, workerNames } from './name.ts';

/** `leasehold workers create NAME`. */
export const create: Command = {
  name: 'workers create',
  doc: 'Create a worker for another host, and show the secret that it joins with',
  args: [NAME],
  options: [
    'tag',
    'workerPriority',
    'grantHandler',
    'grantQueue',
    'grantSlots',
    'any',
    'asCode',
    'install',
    ...OPERATOR_OPTIONS,
  ],
  examples: [
    { line: 'workers create gpu-box --tag gpu --code', does: 'a code for the other host, good once' },
    {
      line: 'workers create renderer --handler render --queue media',
      does: 'it may run that handler, in that queue, and nothing else',
    },
    {
      line: 'workers create gpu-box --tag gpu --install https://tasks.example.org',
      does: 'a line that installs it on the other host',
    },
    { line: 'workers create ci', does: 'its secret; it may run what it offers when it first joins' },
    { line: 'workers create agents --any', does: 'it may run whatever it offers, now and later' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(create, args);
    const [name] = workerNames(words) as [string];
    const { tag: tags, workerPriority, asCode, grantHandler, grantQueue, grantSlots, any, install } = config;
    const code = asCode || install !== undefined;
    // Before anything is made: a node without a release installs nothing.
    const key = install === undefined ? undefined : await releaseKey(install);
    const worker = {
      tags,
      code,
      ...(workerPriority === 0 ? {} : { priority: workerPriority }),
      ...(grantHandler.length > 0 ? { handlers: [...grantHandler] } : any ? { handlers: null } : {}),
      ...(grantQueue.length === 0 ? {} : { queues: [...grantQueue] }),
      ...(grantSlots === undefined ? {} : { slots: grantSlots }),
    };
    const out = outFor(config);
    const { join: _, ...made } = await withOperator(config, (operator) =>
      operator.call('createWorker', { body: { name, ...worker }, by: actingUser(undefined) }),
    );
    if (out.mode === 'json') {
      out.json(made);
      return EXIT.fine;
    }
    if (install !== undefined && made.code !== undefined) {
      out.line(`${name} may join. On the other host, as the user that it is to run as:`);
      out.line(`  ${installLine(install, key)}`);
      out.line(`It asks for the code: ${made.code}`);
      if (key === undefined)
        out.note('The release of this node is NOT SIGNED: whoever is that node can run anything on that host.');
      out.note('The code is good once, within ten minutes.');
      return EXIT.fine;
    }
    out.line(`${name} may join. On the other host, with the address of a node in the place of URL:`);
    out.line(`  ${joinOf('URL', made)}`);
    out.note(made.code === undefined ? 'The secret is shown this once.' : 'The code is good once, within ten minutes.');
    return EXIT.fine;
  },
};

async function releaseKey(url: string): Promise<string | undefined> {
  const { releaseKeyAt } = await import('../../app/release/release-key-at.ts');
  return releaseKeyAt(url);
}

/** The key goes with the line that the operator copies, so that a node that is swapped later can sign nothing. */
function installLine(url: string, key: string | undefined): string {
  const { origin, protocol, hostname } = new URL(url);
  // As the script sees it, which refuses the rest.
  const isSafe = protocol === 'https:' || /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  const insecure = isSafe ? '' : ' --insecure';
  const trust = key === undefined ? '--unsigned' : `--key ${key}`;
  return `curl -fsSL ${origin}/install.sh | sh -s -- --server ${origin} ${trust}${insecure}`;
}
