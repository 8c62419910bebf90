/** A real MCP server with a few tools, for tests. */
import { appendFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

export function mcpServer(notes?: string): McpServer {
  const server = new McpServer({ name: 'math', version: '1.0.0' });
  const text = (said: string): { content: { type: 'text'; text: string }[] } => ({
    content: [{ type: 'text', text: said }],
  });
  const numbers = z.object({ a: z.number(), b: z.number() });
  const annotations = { readOnlyHint: true };
  server.registerTool('add', { description: 'Adds two numbers', inputSchema: numbers, annotations }, ({ a, b }) =>
    text(String(a + b)),
  );
  server.registerTool(
    'note',
    { description: 'Writes it down', inputSchema: z.object({ what: z.string() }) },
    ({ what }) => {
      if (notes !== undefined) appendFileSync(notes, `${what}\n`);
      return text(`noted, with ${process.env['SECRET_WORD'] ?? 'no word'}`);
    },
  );
  server.registerTool('big', { description: 'Says too much' }, () => text('x'.repeat(1024 * 1024)));
  server.registerTool('broken', { description: 'Fails' }, () => {
    throw new Error('it broke');
  });
  server.registerTool('picture', { description: 'Shows something' }, () => ({
    content: [
      { type: 'text', text: 'a dot' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    ],
  }));
  server.registerTool('die', { description: 'Ends the server' }, () => process.exit(3));
  return server;
}
