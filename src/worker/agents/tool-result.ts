/** What the model hears of a tool call. */
export interface ToolResult {
  readonly content: string;
  readonly isError: boolean;
}
