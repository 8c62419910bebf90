import { loadConfig } from '../../config/load.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { openInBrowser } from '../kit/open-in-browser.ts';
import { OPERATOR_OPTIONS, withNode } from '../kit/operator-for.ts';

/** `leasehold login`. */
export const login: Command = {
  name: 'login',
  doc: 'Print a link that lets a browser into the web UI of a node, once and within ten minutes',
  args: [],
  options: ['open', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'login', does: 'a link for the node of this folder' },
    { line: 'login --open', does: 'the same, opened at once' },
    { line: 'login --server https://node:7420', does: 'for another node, with the role of LEASEHOLD_TOKEN' },
  ],

  async run(args) {
    const config = loadConfig(login, args);
    const { Client } = await import('../../client/client.ts');
    const client = new Client(await withNode(config));
    try {
      const link = await client.call('createLogin');
      process.stdout.write(config.json ? `${JSON.stringify(link)}\n` : `${link.url}\n`);
      if (config.open && !(await openInBrowser(link.url, config.dataDir))) {
        process.stderr.write('No browser could be started here: open the link yourself.\n');
      }
    } finally {
      client.close();
    }
    return EXIT.fine;
  },
};
