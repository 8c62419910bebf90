/** The server as a program: `node mcp-server-child.ts [NOTES] [PIDS]`. It writes its number down, and starts a child that would outlive it. */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { mcpServer } from './mcp-server.ts';

const [notes, pids] = process.argv.slice(2);
if (pids !== undefined) {
  appendFileSync(pids, `${process.pid}\n`);
  spawn('sh', ['-c', 'trap "" TERM; while :; do sleep 60; done'], { stdio: 'ignore' });
}
console.log('words for people');
await mcpServer(notes).connect(new StdioServerTransport());
