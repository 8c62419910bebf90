// A node of your own: the type of the node is the name of the handler. Here it is told to a Discord webhook; without one it is printed.
//   leasehold up --handlers examples/graphs/discord.ts
//   leasehold workflows run examples/graphs/notify.json --input '{"name": "Ann"}'
import { task } from 'leasehold';
import { z } from 'zod';

export const send = task('discord/discord_send', {
  queue: 'discord',
  input: z.object({ channel_id: z.string(), message: z.string() }),
  async run({ channel_id, message }, ctx) {
    const url = process.env['DISCORD_WEBHOOK'];
    if (url === undefined) {
      ctx.log(`to ${channel_id}: ${message}`);
      return { sent: false, channel_id, message };
    }
    const { ok, status } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ content: message }),
      signal: ctx.signal,
    });
    if (!ok) throw new Error(`Discord answered ${status}`);
    return { sent: true, channel_id, message };
  },
});
