// Code generated from en.jsonc by go generate; DO NOT EDIT.

package words

// Texts of the gateway about access, commands, questions and the queue.
const (
	// Access.
	TooManyMessages Key = "tooManyMessages"
	PairingCode     Key = "pairingCode"
	PairingLater    Key = "pairingLater"
	// The answer to the press of a button in a group.
	PressRefused  Key = "pressRefused"
	AccessGranted Key = "accessGranted"

	// Commands.
	HelpStop            Key = "helpStop"
	HelpStatus          Key = "helpStatus"
	HelpNew             Key = "helpNew"
	HelpRetry           Key = "helpRetry"
	HelpVerbose         Key = "helpVerbose"
	HelpRemind          Key = "helpRemind"
	HelpSchedules       Key = "helpSchedules"
	HelpWhoami          Key = "helpWhoami"
	HelpHelp            Key = "helpHelp"
	HelpAgent           Key = "helpAgent"
	HelpRoute           Key = "helpRoute"
	HelpRunbooks        Key = "helpRunbooks"
	HelpRun             Key = "helpRun"
	Hello               Key = "hello"
	AgentCommands       Key = "agentCommands"
	EverythingElse      Key = "everythingElse"
	NewConversation     Key = "newConversation"
	WhoAmI              Key = "whoAmI"
	StillWorking        Key = "stillWorking"
	NothingToRetry      Key = "nothingToRetry"
	AuthorWithoutAccess Key = "authorWithoutAccess"
	NotWaiting          Key = "notWaiting"
	Cancelled           Key = "cancelled"
	DetailsGone         Key = "detailsGone"
	CommandFailed       Key = "commandFailed"
	TextFailed          Key = "textFailed"
	FileNotWritten      Key = "fileNotWritten"

	// Agents.
	OnlyAgent        Key = "onlyAgent"
	CurrentAgent     Key = "currentAgent"
	FixedAgent       Key = "fixedAgent"
	AgentNotHere     Key = "agentNotHere"
	SameAgent        Key = "sameAgent"
	NextAgent        Key = "nextAgent"
	NextAgentBusy    Key = "nextAgentBusy"
	UnknownAgent     Key = "unknownAgent"
	UnknownAgentNear Key = "unknownAgentNear"
	AgentGone        Key = "agentGone"
	AgentGoneChoose  Key = "agentGoneChoose"

	// Verbosity.
	VerboseOff   Key = "verboseOff"
	VerboseOn    Key = "verboseOn"
	VerboseUsage Key = "verboseUsage"
	VerboseIsOff Key = "verboseIsOff"
	VerboseIsOn  Key = "verboseIsOn"

	// Reminders and schedules.
	RemindUsage Key = "remindUsage"
	// The argument is a time such as 2026-11-18 18:30 CET.
	RemindSet       Key = "remindSet"
	ScheduleTooMany Key = "scheduleTooMany"
	SchedulesNone   Key = "schedulesNone"
	SchedulesList   Key = "schedulesList"
	// The argument is the number of a schedule in the list.
	ButtonRemove     Key = "buttonRemove"
	ScheduleRemoved  Key = "scheduleRemoved"
	ScheduleNotYours Key = "scheduleNotYours"
	ScheduleGone     Key = "scheduleGone"

	// Questions.
	QuestionClosed Key = "questionClosed"
	NothingChosen  Key = "nothingChosen"
	Dismissed      Key = "dismissed"
	// The outcome of a dismissed question that asks for no permission.
	DismissedQuestion Key = "dismissedQuestion"
	DoneElsewhere     Key = "doneElsewhere"
	WhichQuestion     Key = "whichQuestion"
	AnsweredBy        Key = "answeredBy"
	// The answer in answeredBy, if it is a password.
	SecretAnswer     Key = "secretAnswer"
	SecretNotDeleted Key = "secretNotDeleted"
	TooOldButton     Key = "tooOldButton"
	OnlyApprovers    Key = "onlyApprovers"

	// Edited messages.
	EditedRunning    Key = "editedRunning"
	EditedSendAgain  Key = "editedSendAgain"
	EditedCommand    Key = "editedCommand"
	ButtonRunNewText Key = "buttonRunNewText"

	// The queue.
	Busy         Key = "busy"
	QueueFull    Key = "queueFull"
	Queued       Key = "queued"
	ButtonCancel Key = "buttonCancel"

	// Calls of hooks.
	HookTemplateFailed Key = "hookTemplateFailed"
	HookCalled         Key = "hookCalled"

	// The answers to /stop.
	EndedAlready    Key = "endedAlready"
	CommandsStopped Key = "commandsStopped"
	AlreadyStopping Key = "alreadyStopping"
	NothingRunning  Key = "nothingRunning"
	WaitingDropped  Key = "waitingDropped"
	WaitingLeft     Key = "waitingLeft"

	// The parts of /status.
	StatusRunning       Key = "statusRunning"
	StatusWaitingForYou Key = "statusWaitingForYou"
	StatusWaiting       Key = "statusWaiting"
	StatusWarm          Key = "statusWarm"
	StatusRestarted     Key = "statusRestarted"
	StatusAgent         Key = "statusAgent"
	StatusByAgent       Key = "statusByAgent"
	StatusLastTurns     Key = "statusLastTurns"
	StatusTurn          Key = "statusTurn"
	StatusExitCode      Key = "statusExitCode"
	StatusCPU           Key = "statusCPU"
	StatusMemory        Key = "statusMemory"
	StatusUndelivered   Key = "statusUndelivered"
	StatusDelivery      Key = "statusDelivery"
	OutcomeDone         Key = "outcomeDone"
	OutcomeFailed       Key = "outcomeFailed"
	OutcomeTimeout      Key = "outcomeTimeout"
	OutcomeStopped      Key = "outcomeStopped"
	OutcomeRefused      Key = "outcomeRefused"
	OutcomeSilent       Key = "outcomeSilent"
	OutcomeCutOff       Key = "outcomeCutOff"
	DeliveryPending     Key = "deliveryPending"
	DeliverySending     Key = "deliverySending"
	DeliveryFailed      Key = "deliveryFailed"
	DeliveryUnknown     Key = "deliveryUnknown"
	ButtonRun           Key = "buttonRun"
)

// Texts of the channels.
const (
	// Files that were not sent or received.
	FileNotSent             Key = "fileNotSent"
	FileNotSentSize         Key = "fileNotSentSize"
	FileNotReceived         Key = "fileNotReceived"
	FileNotReceivedSize     Key = "fileNotReceivedSize"
	FileOfStranger          Key = "fileOfStranger"
	FileDownloadFailed      Key = "fileDownloadFailed"
	FileNoSpace             Key = "fileNoSpace"
	FileChatFull            Key = "fileChatFull"
	FileBotsLimit           Key = "fileBotsLimit"
	FileOperatorLimit       Key = "fileOperatorLimit"
	FileLargerThan          Key = "fileLargerThan"
	FileUnreadable          Key = "fileUnreadable"
	FileRefusedByTelegram   Key = "fileRefusedByTelegram"
	FileTooLargeForDiscord  Key = "fileTooLargeForDiscord"
	FileOfMessageUnreadable Key = "fileOfMessageUnreadable"
	LimitOfTelegram         Key = "limitOfTelegram"
	LimitOfDiscord          Key = "limitOfDiscord"
	LimitOfPage             Key = "limitOfPage"
	WholeAnswerInFile       Key = "wholeAnswerInFile"

	// Screens.
	ScreenBlank Key = "screenBlank"
	RowsAbove   Key = "rowsAbove"
	RowsBelow   Key = "rowsBelow"

	// Telegram.
	TopicClosed         Key = "topicClosed"
	UnreadableStories   Key = "unreadableStories"
	UnreadableGames     Key = "unreadableGames"
	UnreadablePaidMedia Key = "unreadablePaidMedia"
	UnreadableGiveaways Key = "unreadableGiveaways"
	UnreadableInvoices  Key = "unreadableInvoices"
	UnreadableKind      Key = "unreadableKind"

	// Discord.
	ThreadLocked       Key = "threadLocked"
	ThreadDeleted      Key = "threadDeleted"
	ThreadName         Key = "threadName"
	OnlyDirectMessages Key = "onlyDirectMessages"
	ButtonDetails      Key = "buttonDetails"
	ButtonChoose       Key = "buttonChoose"
	HelpAsk            Key = "helpAsk"
	HelpAskText        Key = "helpAskText"
	HelpAskFile        Key = "helpAskFile"
	HelpArgument       Key = "helpArgument"

	// The page.
	PageFailed          Key = "pageFailed"
	PageNoChat          Key = "pageNoChat"
	PageNoFile          Key = "pageNoFile"
	PageFileGone        Key = "pageFileGone"
	PageFileChanged     Key = "pageFileChanged"
	PageTooManyChats    Key = "pageTooManyChats"
	PageNoPage          Key = "pageNoPage"
	PageNoButton        Key = "pageNoButton"
	PageTooManyWaiting  Key = "pageTooManyWaiting"
	PageTooManyRequests Key = "pageTooManyRequests"
	PageTooManyPages    Key = "pageTooManyPages"
	PageTooManyPeople   Key = "pageTooManyPeople"
	PageTooManySending  Key = "pageTooManySending"
	PageTextTooLong     Key = "pageTextTooLong"
	PageEmptyMessage    Key = "pageEmptyMessage"
	PageFilesTooLarge   Key = "pageFilesTooLarge"
	PageTooManyFiles    Key = "pageTooManyFiles"
)

// Reasons why a file of an agent is not sent, for FileNotSent.
const (
	FileNotAbsolute  Key = "fileNotAbsolute"
	FileOutside      Key = "fileOutside"
	FileUnseen       Key = "fileUnseen"
	FileNotReadable  Key = "fileNotReadable"
	FileIsFolder     Key = "fileIsFolder"
	FileNotRegular   Key = "fileNotRegular"
	FileEmpty        Key = "fileEmpty"
	FileMissing      Key = "fileMissing"
	FileOfGateway    Key = "fileOfGateway"
	FileOfOtherChat  Key = "fileOfOtherChat"
	FileHasHardLinks Key = "fileHasHardLinks"
)

// Texts of turns and of their final responses.
const (
	// Turns and their boards.
	Working            Key = "working"
	Stopping           Key = "stopping"
	WaitingForYou      Key = "waitingForYou"
	BoardStep          Key = "boardStep"
	BoardWaiting       Key = "boardWaiting"
	ButtonStop         Key = "buttonStop"
	FoldSteps          Key = "foldSteps"
	FoldFiles          Key = "foldFiles"
	Done               Key = "done"
	Restarted          Key = "restarted"
	RestartedResumable Key = "restartedResumable"
	// The same, if /retry would run another message, and for a run of a runbook.
	RestartedEarlier Key = "restartedEarlier"
	RestartedRun     Key = "restartedRun"
	RanAgain         Key = "ranAgain"
	ButtonRunAgain   Key = "buttonRunAgain"
	// A message that the network does not take.
	SetAside         Key = "setAside"
	ButtonTryAgain   Key = "buttonTryAgain"
	NothingToResend  Key = "nothingToResend"
	ShortOfResources Key = "shortOfResources"
	StoppedText      Key = "stoppedText"
	// A stopped turn has left commands running. The commands are code.
	StillRunning Key = "stillRunning"
	ButtonEndIt  Key = "buttonEndIt"
	StoppedLate  Key = "stoppedLate"
	CouldNotRun  Key = "couldNotRun"

	// Files and questions of an agent.
	FileNoRoom  Key = "fileNoRoom"
	FileCopyCut Key = "fileCopyCut"
	FileRemoved Key = "fileRemoved"
	FileChanged Key = "fileChanged"
	FileGone    Key = "fileGone"
	RestInFile  Key = "restInFile"
	NoAnswer    Key = "noAnswer"

	// The final response.
	NoOutput       Key = "noOutput"
	TimedOut       Key = "timedOut"
	MoreRemarks    Key = "moreRemarks"
	SomethingWrong Key = "somethingWrong"
	PrintedNothing Key = "printedNothing"
	KilledBy       Key = "killedBy"
	ExitCode       Key = "exitCode"
	NeedsTerminal  Key = "needsTerminal"
	SwitchedOff    Key = "switchedOff"
	MessageTooLong Key = "messageTooLong"
	// Where the agent works: a folder below the workspace, or a worktree of a git repository.
	PlaceUnusable        Key = "placeUnusable"
	PlaceNotFolder       Key = "placeNotFolder"
	PlaceNotMade         Key = "placeNotMade"
	WorktreeStarting     Key = "worktreeStarting"
	WorktreeNoGit        Key = "worktreeNoGit"
	WorktreeNoRepository Key = "worktreeNoRepository"
	WorktreeNoCommit     Key = "worktreeNoCommit"
	WorktreeOccupied     Key = "worktreeOccupied"
	WorktreeSlow         Key = "worktreeSlow"
	WorktreeNotMade      Key = "worktreeNotMade"
	MoreNotSent          Key = "moreNotSent"
	TooManyFiles         Key = "tooManyFiles"
	LineSkipped          Key = "lineSkipped"
)

// Texts of the protocol acp: questions, options and sessions of the agent.
const (
	// Settings of the agent.
	SettingMode       Key = "settingMode"
	SettingModel      Key = "settingModel"
	SettingOn         Key = "settingOn"
	SettingOff        Key = "settingOff"
	NoMode            Key = "noMode"
	NoModel           Key = "noModel"
	NoSettings        Key = "noSettings"
	WhichMode         Key = "whichMode"
	WhichModel        Key = "whichModel"
	WhichSetting      Key = "whichSetting"
	UnknownMode       Key = "unknownMode"
	UnknownModel      Key = "unknownModel"
	UnknownSetting    Key = "unknownSetting"
	UnknownValue      Key = "unknownValue"
	ChooseBy          Key = "chooseBy"
	ApproveMode       Key = "approveMode"
	ApproveSetting    Key = "approveSetting"
	ModeUnchanged     Key = "modeUnchanged"
	SettingUnchanged  Key = "settingUnchanged"
	SettingRefused    Key = "settingRefused"
	SettingUnanswered Key = "settingUnanswered"
	SettingNotKept    Key = "settingNotKept"

	// The agent's line in /status, and the help of its commands.
	ContextUsed  Key = "contextUsed"
	TokensUsed   Key = "tokensUsed"
	HelpSessions Key = "helpSessions"
	HelpMode     Key = "helpMode"
	HelpModel    Key = "helpModel"
	HelpConfig   Key = "helpConfig"

	// Signing in to the agent's service.
	SignInRequired  Key = "signInRequired"
	SignInCommand   Key = "signInCommand"
	SignInVariables Key = "signInVariables"

	// Programs that do not speak the protocol.
	NotAnAgent  Key = "notAnAgent"
	AgentEchoes Key = "agentEchoes"

	// Sessions of the agent.
	SessionsUnlisted  Key = "sessionsUnlisted"
	NoSessions        Key = "noSessions"
	WhichSession      Key = "whichSession"
	SessionsFixed     Key = "sessionsFixed"
	UnknownSession    Key = "unknownSession"
	SameSession       Key = "sameSession"
	SessionElsewhere  Key = "sessionElsewhere"
	SessionNotResumed Key = "sessionNotResumed"
	ButtonDelete      Key = "buttonDelete"
	DeleteWhich       Key = "deleteWhich"
	ApproveDelete     Key = "approveDelete"
	SessionKept       Key = "sessionKept"
	SessionDeleted    Key = "sessionDeleted"
	SessionChosen     Key = "sessionChosen"
)

// Texts of the protocol acp about turns and background work of the agent.
const (
	// The board of a turn.
	AgentStarting  Key = "agentStarting"
	AgentThinking  Key = "agentThinking"
	StepCompaction Key = "stepCompaction"
	AgentSilent    Key = "agentSilent"

	// The end of a turn.
	ConversationLost   Key = "conversationLost"
	AgentNotReady      Key = "agentNotReady"
	AgentEndedEarly    Key = "agentEndedEarly"
	AgentEndedResumes  Key = "agentEndedResumes"
	AgentEndedForgets  Key = "agentEndedForgets"
	StoppedByTokens    Key = "stoppedByTokens"
	StoppedByRequests  Key = "stoppedByRequests"
	StoppedByCancel    Key = "stoppedByCancel"
	StoppedByRefusal   Key = "stoppedByRefusal"
	StoppedByReason    Key = "stoppedByReason"
	AgentDone          Key = "agentDone"
	AgentEndedSilent   Key = "agentEndedSilent"
	AgentRefused       Key = "agentRefused"
	AgentStepFailed    Key = "agentStepFailed"
	AgentErrorRepeated Key = "agentErrorRepeated"
	AgentErrorUnknown  Key = "agentErrorUnknown"
	BackgroundTooLong  Key = "backgroundTooLong"
	BackgroundTooMany  Key = "backgroundTooMany"
	BackgroundStopping Key = "backgroundStopping"
)

// Texts of the protocol acp about the work of an agent: its board, its changes and its files.
const (
	PlanDone       Key = "planDone"
	PlanMore       Key = "planMore"
	UnnamedTool    Key = "unnamedTool"
	EarlierSteps   Key = "earlierSteps"
	FilesChanged   Key = "filesChanged"
	MoreFiles      Key = "moreFiles"
	ChangeNew      Key = "changeNew"
	ChangeTooLarge Key = "changeTooLarge"

	// Content that cannot be shown.
	PictureUnshown Key = "pictureUnshown"
	SoundUnshown   Key = "soundUnshown"
	FileUnshown    Key = "fileUnshown"
	DataTooLarge   Key = "dataTooLarge"
	DataInvalid    Key = "dataInvalid"
	DataEmpty      Key = "dataEmpty"
	DataNotWritten Key = "dataNotWritten"
)

// Texts of the protocol acp for the questions of agents. blocks shares those of long commands.
const (
	// Permissions.
	PermissionNobody    Key = "permissionNobody"
	PermissionTimeout   Key = "permissionTimeout"
	PermissionFailed    Key = "permissionFailed"
	ButtonAllowOnce     Key = "buttonAllowOnce"
	ButtonAllowAlways   Key = "buttonAllowAlways"
	ButtonNever         Key = "buttonNever"
	ButtonAllowCommands Key = "buttonAllowCommands"
	ButtonAllowWriting  Key = "buttonAllowWriting"
	ButtonAllowReading  Key = "buttonAllowReading"
	QuestionMore        Key = "questionMore"
	QuestionMoreBytes   Key = "questionMoreBytes"
	QuestionBlanks      Key = "questionBlanks"
	QuestionDocument    Key = "questionDocument"
	WantsCommand        Key = "wantsCommand"
	WantsRead           Key = "wantsRead"
	WantsWrite          Key = "wantsWrite"
	CommandFolder       Key = "commandFolder"
	CommandVariable     Key = "commandVariable"
	FileTarget          Key = "fileTarget"
	FileProtected       Key = "fileProtected"

	// Forms and links of the agent.
	ElicitNobody    Key = "elicitNobody"
	ElicitTimeout   Key = "elicitTimeout"
	ElicitUnknown   Key = "elicitUnknown"
	ElicitFailed    Key = "elicitFailed"
	ButtonDone      Key = "buttonDone"
	FieldNumber     Key = "fieldNumber"
	FieldDefault    Key = "fieldDefault"
	FieldChosen     Key = "fieldChosen"
	FieldOwnAnswer  Key = "fieldOwnAnswer"
	FieldNotOption  Key = "fieldNotOption"
	FieldNotNumber  Key = "fieldNotNumber"
	FieldNotInteger Key = "fieldNotInteger"
	FieldTooSmall   Key = "fieldTooSmall"
	FieldTooLarge   Key = "fieldTooLarge"
	FieldTooShort   Key = "fieldTooShort"
	FieldTooLong    Key = "fieldTooLong"
	FieldNotPattern Key = "fieldNotPattern"
	FieldNotEmail   Key = "fieldNotEmail"
	FieldNotLink    Key = "fieldNotLink"
	FieldNotDate    Key = "fieldNotDate"
	FieldNotTime    Key = "fieldNotTime"
)

// Texts of the pages for signing in, and of refusals that a person may see.
const (
	SignInOpen         Key = "signInOpen"
	SignInLinkFor      Key = "signInLinkFor"
	SignInOther        Key = "signInOther"
	SignInSwitch       Key = "signInSwitch"
	SignInStay         Key = "signInStay"
	SignInFailed       Key = "signInFailed"
	SignInLinkSpent    Key = "signInLinkSpent"
	SignInNewLink      Key = "signInNewLink"
	SignInNeedsLink    Key = "signInNeedsLink"
	SignInAskForLink   Key = "signInAskForLink"
	SignInTerminalLink Key = "signInTerminalLink"
	SignInUnchecked    Key = "signInUnchecked"
	SignInTooMany      Key = "signInTooMany"
	SignOutNotStored   Key = "signOutNotStored"
	RoleChat           Key = "roleChat"
	RoleOperator       Key = "roleOperator"
	RefusedOperators   Key = "refusedOperators"
	RefusedOtherSite   Key = "refusedOtherSite"
	RefusedHost        Key = "refusedHost"
	TitleBadLink       Key = "titleBadLink"
	TitlePleaseWait    Key = "titlePleaseWait"
	TitleDidNotWork    Key = "titleDidNotWork"
	TitleCannotDoThis  Key = "titleCannotDoThis"
)

// Texts of the chat page itself. Those of its script are sent to the browser with their
// placeholders.
const (
	// Names of controls and regions.
	PageSkip         Key = "pageSkip"
	PageChatList     Key = "pageChatList"
	PageViews        Key = "pageViews"
	PageChat         Key = "pageChat"
	PageConsole      Key = "pageConsole"
	PageSignOut      Key = "pageSignOut"
	PageChats        Key = "pageChats"
	PageNewChat      Key = "pageNewChat"
	PageConversation Key = "pageConversation"
	PageOlder        Key = "pageOlder"
	PageNewest       Key = "pageNewest"
	PageFilesToSend  Key = "pageFilesToSend"
	PageAttach       Key = "pageAttach"
	PageMessage      Key = "pageMessage"
	PageSend         Key = "pageSend"
	PageDrop         Key = "pageDrop"
	PagePicture      Key = "pagePicture"
	PagePrevious     Key = "pagePrevious"
	PageNext         Key = "pageNext"
	PageDownload     Key = "pageDownload"
	PageClose        Key = "pageClose"
	PageTable        Key = "pageTable"
	PageTaskDone     Key = "pageTaskDone"
	PageCopy         Key = "pageCopy"
	PageCopied       Key = "pageCopied"

	// An empty chat, and a page that does not work.
	PageHello       Key = "pageHello"
	PageHelloText   Key = "pageHelloText"
	PageNeedsScript Key = "pageNeedsScript"

	// The connection.
	PageSignedOut      Key = "pageSignedOut"
	PageSentLater      Key = "pageSentLater"
	PageReconnecting   Key = "pageReconnecting"
	PageReconnected    Key = "pageReconnected"
	PageNoConnection   Key = "pageNoConnection"
	PageServerAnswered Key = "pageServerAnswered"
	PageDidNotWork     Key = "pageDidNotWork"

	// Messages that are being sent.
	PageSending  Key = "pageSending"
	PageSent     Key = "pageSent"
	PageNotSent  Key = "pageNotSent"
	PageRetries  Key = "pageRetries"
	PageTryAgain Key = "pageTryAgain"
	PageDiscard  Key = "pageDiscard"
	PageAttached Key = "pageAttached"
	PageRemove   Key = "pageRemove"
	PageRemoved  Key = "pageRemoved"
	// What a message shows whose text was a password.
	PageSecretRemoved Key = "pageSecretRemoved"

	// Chats and messages.
	PageUntitled         Key = "pageUntitled"
	PageNewMessages      Key = "pageNewMessages"
	PageAsksYou          Key = "pageAsksYou"
	PageAwaitsAnswer     Key = "pageAwaitsAnswer"
	PageChosen           Key = "pageChosen"
	PageStopping         Key = "pageStopping"
	PageFiles            Key = "pageFiles"
	PageFromYou          Key = "pageFromYou"
	PageErrorMessage     Key = "pageErrorMessage"
	PagePictureOf        Key = "pagePictureOf"
	PageNumberOfPictures Key = "pageNumberOfPictures"
)

// Texts of the protocol blocks.
const (
	// Commands.
	HelpResume           Key = "helpResume"
	HelpDiff             Key = "helpDiff"
	HelpUndo             Key = "helpUndo"
	BlocksNoTask         Key = "blocksNoTask"
	BlocksNothingChanged Key = "blocksNothingChanged"
	BlocksChangedBy      Key = "blocksChangedBy"
	BlocksUnchangedBy    Key = "blocksUnchangedBy"
	BlocksUndone         Key = "blocksUndone"
	BlocksNothingUndone  Key = "blocksNothingUndone"
	BlocksRestored       Key = "blocksRestored"
	BlocksRemoved        Key = "blocksRemoved"
	BlocksNotRestored    Key = "blocksNotRestored"
	BlocksMoreRefused    Key = "blocksMoreRefused"
	BlocksCommandsStay   Key = "blocksCommandsStay"
	BlocksChangedSince   Key = "blocksChangedSince"
	BlocksInterrupted    Key = "blocksInterrupted"
	BlocksCopyChanged    Key = "blocksCopyChanged"

	// Questions for approval.
	ButtonYes           Key = "buttonYes"
	ButtonNo            Key = "buttonNo"
	ButtonAlways        Key = "buttonAlways"
	BlocksRefused       Key = "blocksRefused"
	BlocksNeverChanged  Key = "blocksNeverChanged"
	BlocksRunThis       Key = "blocksRunThis"
	BlocksDelete        Key = "blocksDelete"
	BlocksDeleteLink    Key = "blocksDeleteLink"
	BlocksEdit          Key = "blocksEdit"
	BlocksOverwrite     Key = "blocksOverwrite"
	BlocksCreate        Key = "blocksCreate"
	BlocksTooLarge      Key = "blocksTooLarge"
	BlocksNoChange      Key = "blocksNoChange"
	BlocksMoreLines     Key = "blocksMoreLines"
	BlocksRound         Key = "blocksRound"
	BlocksAwaitsPerson  Key = "blocksAwaitsPerson"
	BlocksAwaitsModel   Key = "blocksAwaitsModel"
	BlocksGiveFile      Key = "blocksGiveFile"
	BlocksModelsAnswer  Key = "blocksModelsAnswer"
	BlocksEmptyAnswer   Key = "blocksEmptyAnswer"
	BlocksNotText       Key = "blocksNotText"
	BlocksNotRead       Key = "blocksNotRead"
	BlocksInboxNotRead  Key = "blocksInboxNotRead"
	BlocksNotRegular    Key = "blocksNotRegular"
	BlocksFileTooLarge  Key = "blocksFileTooLarge"
	BlocksDone          Key = "blocksDone"
	BlocksDoneAlready   Key = "blocksDoneAlready"
	BlocksCreated       Key = "blocksCreated"
	BlocksChanged       Key = "blocksChanged"
	BlocksDeleted       Key = "blocksDeleted"
	BlocksMoreFiles     Key = "blocksMoreFiles"
	BlocksDiffOmits     Key = "blocksDiffOmits"
	BlocksTooManyRounds Key = "blocksTooManyRounds"
	BlocksResumable     Key = "blocksResumable"
	BlocksAnswerLong    Key = "blocksAnswerLong"
	BlocksAgentFailed   Key = "blocksAgentFailed"

	// Results of commands. Their English texts are also the results that the model gets, as the
	// protocol describes them.
	BlocksCreatedFile  Key = "blocksCreatedFile"
	BlocksEditedFile   Key = "blocksEditedFile"
	BlocksDeletedFile  Key = "blocksDeletedFile"
	BlocksRequested    Key = "blocksRequested"
	BlocksCreateFailed Key = "blocksCreateFailed"
	BlocksEditFailed   Key = "blocksEditFailed"
	BlocksDeleteFailed Key = "blocksDeleteFailed"
	BlocksReadFailed   Key = "blocksReadFailed"
	BlocksNoSuchLines  Key = "blocksNoSuchLines"
	BlocksOutside      Key = "blocksOutside"
	BlocksNotFound     Key = "blocksNotFound"
	BlocksNotApproved  Key = "blocksNotApproved"
	BlocksProtected    Key = "blocksProtected"
	BlocksCutOff       Key = "blocksCutOff"
	BlocksRan          Key = "blocksRan"
	BlocksRunTimedOut  Key = "blocksRunTimedOut"
	BlocksRunFailed    Key = "blocksRunFailed"

	// Exits of processes.
	ExitKilled Key = "exitKilled"
	ExitStatus Key = "exitStatus"
)

// Texts of the protocols keys and screen.
const (
	// Commands.
	HelpScreen     Key = "helpScreen"
	HelpKey        Key = "helpKey"
	HelpType       Key = "helpType"
	HelpTake       Key = "helpTake"
	HelpGive       Key = "helpGive"
	HelpLog        Key = "helpLog"
	HelpSize       Key = "helpSize"
	ButtonHandBack Key = "buttonHandBack"
	ButtonTakeOver Key = "buttonTakeOver"

	// Replies to commands.
	KeysNoTerminal    Key = "keysNoTerminal"
	KeysUsage         Key = "keysUsage"
	KeysSizeUsage     Key = "keysSizeUsage"
	KeysTakenAlready  Key = "keysTakenAlready"
	KeysTaken         Key = "keysTaken"
	KeysGivenAlready  Key = "keysGivenAlready"
	KeysAgentGoesOn   Key = "keysAgentGoesOn"
	KeysGiven         Key = "keysGiven"
	KeysNothingTyped  Key = "keysNothingTyped"
	KeysShellEnded    Key = "keysShellEnded"
	KeysPictureLacks  Key = "keysPictureLacks"
	KeysNoLog         Key = "keysNoLog"
	KeysLog           Key = "keysLog"
	KeysFilesAreHere  Key = "keysFilesAreHere"
	KeysProgramEnded  Key = "keysProgramEnded"
	KeysStillTaken    Key = "keysStillTaken"
	KeysIdle          Key = "keysIdle"
	KeysDone          Key = "keysDone"
	KeysTooManySteps  Key = "keysTooManySteps"
	KeysShellOfTurn   Key = "keysShellOfTurn"
	KeysAnswerLong    Key = "keysAnswerLong"
	KeysAgentEnded    Key = "keysAgentEnded"
	KeysNotUnderstood Key = "keysNotUnderstood"
	KeysNoPlan        Key = "keysNoPlan"
)

// Texts of a chat in a terminal.
const (
	ChatGreeting     Key = "chatGreeting"
	ChatDemo         Key = "chatDemo"
	ChatNoConfig     Key = "chatNoConfig"
	ChatStatus       Key = "chatStatus"
	ChatLastTurn     Key = "chatLastTurn"
	ChatAnswerHow    Key = "chatAnswerHow"
	ChatNotRead      Key = "chatNotRead"
	ChatSecretEnded  Key = "chatSecretEnded"
	ChatFileNotSaved Key = "chatFileNotSaved"
	HelpChatStatus   Key = "helpChatStatus"
	HelpChatStop     Key = "helpChatStop"
	HelpChatQuit     Key = "helpChatQuit"
	KindImage        Key = "kindImage"
	KindVideo        Key = "kindVideo"
	KindAudio        Key = "kindAudio"
	KindDocument     Key = "kindDocument"
)

// Texts of runs of runbooks.
const (
	// The options of a question.
	ButtonApprove Key = "buttonApprove"
	ButtonReject  Key = "buttonReject"
	ButtonRetry   Key = "buttonRetry"
	ButtonSkip    Key = "buttonSkip"
	ButtonAbort   Key = "buttonAbort"

	// Replies to answers.
	RunSkipReason      Key = "runSkipReason"
	RunNothingToSkip   Key = "runNothingToSkip"
	RunNoAgentWaits    Key = "runNoAgentWaits"
	RunApprovedAlready Key = "runApprovedAlready"
	RunApprovals       Key = "runApprovals"
	RunApprovedBy      Key = "runApprovedBy"
	RunCommentShort    Key = "runCommentShort"
	RunCommentRefused  Key = "runCommentRefused"

	// How questions ended.
	RunDecided    Key = "runDecided"
	RunAskedAgain Key = "runAskedAgain"
	RunSkipped    Key = "runSkipped"
	RunCommented  Key = "runCommented"

	// The commands /run and /runbooks.
	RunNoneWaiting    Key = "runNoneWaiting"
	RunNotWaiting     Key = "runNotWaiting"
	RunbooksNotRead   Key = "runbooksNotRead"
	RunbooksNone      Key = "runbooksNone"
	RunbooksList      Key = "runbooksList"
	RunbookReserved   Key = "runbookReserved"
	RunbookListed     Key = "runbookListed"
	RunbookInvalid    Key = "runbookInvalid"
	RunbookUnknown    Key = "runbookUnknown"
	RunbookUnreadable Key = "runbookUnreadable"
	RunUsage          Key = "runUsage"
	RunWaits          Key = "runWaits"

	// The progress and the end of a run.
	RunStopped      Key = "runStopped"
	RunEndedAlready Key = "runEndedAlready"
	RunComplete     Key = "runComplete"
	RunDeclined     Key = "runDeclined"
	RunEnded        Key = "runEnded"
	RunAborted      Key = "runAborted"
	RunHash         Key = "runHash"
	// Whose word a proof is.
	RunWordOfAgent   Key = "runWordOfAgent"
	RunWordOfGateway Key = "runWordOfGateway"
	RunAgentsWord    Key = "runAgentsWord"
	RunStepsBefore   Key = "runStepsBefore"
	RunStepsAfter    Key = "runStepsAfter"

	// Questions about steps.
	RunPeopleNeeded  Key = "runPeopleNeeded"
	RunStepFailed    Key = "runStepFailed"
	RunWriteComment  Key = "runWriteComment"
	RunHowToSkip     Key = "runHowToSkip"
	RunByAgent       Key = "runByAgent"
	RunMinted        Key = "runMinted"
	RunAgentReported Key = "runAgentReported"
	RunPermitCommand Key = "runPermitCommand"

	// Why a step was not proved. The agent gets these texts in English.
	RunCommandFailed Key = "runCommandFailed"
	RunNoOutput      Key = "runNoOutput"
	RunToolNotCalled Key = "runToolNotCalled"
	RunAnswerShort   Key = "runAnswerShort"
	RunNoAnswer      Key = "runNoAnswer"
)
